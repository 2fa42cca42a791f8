//! The mappings that ship with the program, by name.

/// A mapping that ships with the program.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// Its name for `--map`.
    pub name: &'static str,
    /// What it reads, a noun phrase.
    pub about: &'static str,
    /// The mapping as written.
    pub text: &'static str,
}

macro_rules! ready {
    ($($name:literal: $about:literal,)+) => {
        &[$(Ready {
            name: $name,
            about: $about,
            text: include_str!(concat!("ready/", $name, ".json")),
        }),+]
    };
}

/// All of them, by name.
pub static READY: &[Ready] = ready! {
    "activegraph": "runtime events of activegraph, one a line",
    "anthropic-managed": "events of Anthropic managed agents, lines of [method, event]",
    "langgraph-history": "checkpoints of a LangGraph thread (get_state_history), one a record",
    "mint": "results of MINT, a run a line",
    "openai-run-state": "saved run states of the OpenAI Agents SDK, a run a file",
    "openclaw": "telemetry of OpenClaw, one event a line",
    "pino": "logs of pino (Node.js)",
    "python-json-logger": "logs of python-json-logger, retries of tenacity among them",
    "rust-tracing": "logs of tracing-subscriber's json(), flattened or not",
    "structlog": "logs of structlog's JSONRenderer",
};

/// The ready mapping of this name.
#[must_use]
pub fn ready(name: &str) -> Option<&'static Ready> {
    READY.iter().find(|ready| ready.name == name)
}

#[cfg(test)]
mod tests {
    use super::{READY, ready};
    use crate::config::Mapping;

    #[test]
    fn every_ready_mapping_is_sound_and_known_by_its_name() {
        let mut names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
        for name in &names {
            let ready = ready(name).expect("its name");
            if let Err(error) = Mapping::from_text(ready.text.as_bytes(), name) {
                panic!("{name}: {error}");
            }
        }
        let sorted = names.clone();
        names.sort_unstable();
        assert_eq!(names, sorted);
    }
}

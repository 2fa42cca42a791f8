//! The keys of a mapping by place, and what to say of one that does not belong.

use super::super::error::ConfigError;
use super::super::key_walk::{Fault, KeyWalk};
use super::super::source::Node;
use crate::model::nearest;

const TOP: &[&str] = &[
    "$schema",
    "schema",
    "notes",
    "lines",
    "records",
    "record",
    "steps",
    "group",
    "time",
    "time_format",
    "time_zone",
    "duration_unit",
    "statuses",
    "attempts",
    "first_attempt",
    "turns",
    "same",
    "events",
    "run",
    "step",
];
const LINES: &[&str] = &["prefix", "unwrap", "other"];
const GROUP: &[&str] = &["run", "step", "attempt"];
const RULE: &[&str] = &["when", "is", "run", "step"];
const TEST: &[&str] = &["exists", "match", "not", "min", "max"];
const RUN: &[&str] = &[
    "run_id",
    "task_id",
    "trial",
    "agent",
    "model",
    "status",
    "end_reason",
    "score",
    "success",
    "started_at",
    "ended_at",
    "duration",
    "cost",
    "output",
    "final",
    "tokens",
    "tags",
];
const STEP: &[&str] = &[
    "step_id",
    "attempt",
    "attempts",
    "index",
    "type",
    "name",
    "status",
    "success",
    "error",
    "error_type",
    "error_message",
    "request_id",
    "input",
    "output",
    "started_at",
    "ended_at",
    "duration",
    "cost",
    "tokens",
];
const TOKENS: &[&str] = &["input", "total_input", "cache_read", "cache_write", "output", "total"];
const PICK: &[&str] =
    &["path", "const", "join", "match", "line", "values", "format", "zone", "unit"];

/// The name of a place where a value, or a list of values, may stand.
const VALUE: &str = "a value";
/// The name of a test in a rule: conditions, a value, or a list of values.
const A_TEST: &str = "a test";

/// The keys of a place and its name; `None` where any key may stand.
fn place(path: &[String]) -> Option<(&'static str, &'static [&'static str])> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    // A list of sources stands where one may stand.
    let mut parts: Vec<&str> = Vec::new();
    for (nth, part) in path.iter().enumerate() {
        let in_list =
            part.bytes().all(|b| b.is_ascii_digit()) && !(nth == 1 && path[0] == "events");
        if !in_list {
            parts.push(part);
        }
    }
    let inside = match parts.as_slice() {
        ["events", _, "when", ..] => {
            return (parts.len() == 4).then_some((A_TEST, TEST));
        }
        ["events", _, rest @ ..] if !rest.is_empty() => rest,
        whole => whole,
    };
    Some(match inside {
        [] => ("", TOP),
        ["events", _] => ("a rule of events", RULE),
        ["lines"] => ("lines", LINES),
        ["group"] => ("group", GROUP),
        ["run"] => ("run", RUN),
        ["step"] => ("step", STEP),
        ["run" | "step", "tokens"] => ("tokens", TOKENS),
        ["statuses"] | ["run", "tags"] | [.., "values" | "const"] => return None,
        [.., "notes" | "records" | "record" | "steps"] if inside.len() == 1 => return None,
        _ => (VALUE, PICK),
    })
}

/// Refuses repeated and unknown keys, everywhere.
pub(super) fn check(node: &Node, text: &str, file: &str) -> Result<(), ConfigError> {
    let misplaced = |path: &[String], key: &str| {
        let (name, keys) = place(path).filter(|(_, keys)| !keys.contains(&key))?;
        Some(unknown(name, keys, key))
    };
    // A list of values stands where one may stand, and so does one of the values that a test allows.
    let is_object =
        |path: &[String]| place(path).is_some_and(|(name, _)| name != VALUE && name != A_TEST);
    KeyWalk { text, file, is_object, misplaced }.check(node)
}

/// What to say of a key that its place does not have.
fn unknown(place: &str, keys: &[&'static str], key: &str) -> Fault {
    let message = match place {
        "" => format!("unknown key `{key}`"),
        place => format!("unknown key `{key}` in {place}"),
    };
    let help = match nearest(key, keys.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => match [("run", RUN), ("step", STEP)].iter().find(|(_, keys)| keys.contains(&key)) {
            Some((home, _)) => format!("it stands in `{home}`"),
            None => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                format!("the keys here are {}", keys.join(", "))
            }
        },
    };
    (message, help)
}

#[cfg(test)]
mod tests {
    use super::super::mapping_schema;
    use super::{GROUP, LINES, PICK, RULE, RUN, STEP, TEST, TOKENS, TOP};

    #[test]
    fn the_keys_are_those_of_the_wire_form() {
        let schema = mapping_schema();
        for (pointer, keys) in [
            ("/properties", TOP),
            ("/$defs/Lines/properties", LINES),
            ("/$defs/Group/properties", GROUP),
            ("/$defs/Rule/properties", RULE),
            ("/$defs/Conditions/properties", TEST),
            ("/$defs/RunFields/properties", RUN),
            ("/$defs/StepFields/properties", STEP),
            ("/$defs/TokenFields/properties", TOKENS),
            ("/$defs/Pick/properties", PICK),
        ] {
            let members = schema.pointer(pointer).and_then(|p| p.as_object()).expect(pointer);
            let mut wire: Vec<&str> = members.keys().map(String::as_str).collect();
            let mut known = keys.to_vec();
            wire.sort_unstable();
            known.sort_unstable();
            assert_eq!(wire, known, "{pointer}");
        }
    }
}

//! The keys of a mapping by place, and what to say of one that does not belong.

use super::super::error::ConfigError;
use super::super::source::{Kind, Node};
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
            return (parts.len() == 4).then_some(("a test", TEST));
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
        _ => ("a value", PICK),
    })
}

/// Refuses repeated and unknown keys, everywhere.
pub(super) fn check(node: &Node, text: &str, file: &str) -> Result<(), ConfigError> {
    walk(node, &mut Vec::new(), text, file)
}

fn walk(node: &Node, path: &mut Vec<String>, text: &str, file: &str) -> Result<(), ConfigError> {
    match &node.kind {
        Kind::Other => {}
        Kind::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                path.push(at.to_string());
                walk(element, path, text, file)?;
                path.pop();
            }
        }
        Kind::Object(members) => {
            let mut seen = std::collections::BTreeSet::new();
            for (key, value) in members {
                let is_new = seen.insert(key.name.as_str());
                let fault = match place(path) {
                    _ if !is_new => Some((
                        format!("the key `{}` stands here twice", key.name),
                        "keep one of the two".to_owned(),
                    )),
                    Some((name, keys)) if !keys.contains(&key.name.as_str()) => {
                        Some(unknown(name, keys, &key.name))
                    }
                    _ => None,
                };
                path.push(key.name.clone());
                if let Some((message, help)) = fault {
                    return Err(ConfigError::of_file(file, message, &help).at(
                        text,
                        key.span.clone(),
                        path,
                    ));
                }
                walk(value, path, text, file)?;
                path.pop();
            }
        }
    }
    Ok(())
}

fn unknown(place: &str, keys: &[&'static str], key: &str) -> (String, String) {
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

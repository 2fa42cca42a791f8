//! The keys of the config by place, and what to say of one that does not belong.

use super::error::ConfigError;
use super::key_walk::{Fault, KeyWalk};
use super::source::Node;
use crate::model::nearest;

/// A place in the config and the keys that it may have.
pub(super) struct Place {
    /// Its name; empty for the top level.
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
}

/// The places that stand once; a test holds them equal to the wire form.
pub(super) const PLACES: [Place; 4] = [
    Place {
        name: "",
        keys: &[
            "$schema",
            "task_name",
            "max_steps",
            "evaluation",
            "metrics",
            "limits",
            "mid_run",
            "pass_score",
            "steps",
            "error_types",
            "infra_errors",
            "exit_codes",
            "expected_trials",
            "unfinished",
            "scorer",
            "attempts_count",
            "side_effects",
            "tool_schemas",
            "thresholds",
            "gate",
            "diagnose",
        ],
    },
    Place {
        name: "evaluation",
        keys: &[
            "subtask_passed",
            "final_passed",
            "max_retry_per_step",
            "allowed_total_retries",
            "timeout_seconds",
        ],
    },
    Place { name: "limits", keys: &["max_tokens_per_step", "max_total_tokens", "max_cost_usd"] },
    Place { name: "gate", keys: &["alpha", "margin", "metrics", "inconclusive"] },
];

const ERROR_TYPE: Place =
    Place { name: "a rule of error_types", keys: &["match", "type", "blame"] };
const THRESHOLD: Place = Place { name: "a threshold", keys: &["min", "max"] };
const DIAGNOSE_RULE: Place = Place { name: "a rule of diagnose", keys: &["level", "limit"] };
const WINDOW: Place = Place { name: "mid_run", keys: &["from", "to"] };

/// The place at a path; `None` where any key may stand, or none is looked at.
fn place(path: &[String]) -> Option<&'static Place> {
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => PLACES.first(),
        [name] => PLACES
            .iter()
            .find(|place| place.name == *name && !name.is_empty())
            .or_else(|| (*name == "mid_run").then_some(&WINDOW)),
        ["error_types", _] => Some(&ERROR_TYPE),
        ["thresholds", _] => Some(&THRESHOLD),
        ["diagnose", _] => Some(&DIAGNOSE_RULE),
        _ => None,
    }
}

/// Refuses repeated and unknown keys, everywhere.
pub(super) fn check(node: &Node, text: &str, file: &str) -> Result<(), ConfigError> {
    let misplaced = |path: &[String], key: &str| {
        place(path).filter(|place| !place.keys.contains(&key)).map(|place| not_here(place, key))
    };
    KeyWalk { text, file, is_object: |path| place(path).is_some(), misplaced }.check(node)
}

/// What to say of a key that its place does not have.
fn not_here(here: &Place, key: &str) -> Fault {
    let unknown = match here.name {
        "" => format!("unknown key `{key}`"),
        name => format!("unknown key `{key}` in {}", quoted(name)),
    };
    let home = |key: &str| PLACES.iter().find(|place| place.keys.contains(&key));
    if let Some(place) = home(key) {
        let message = format!("`{key}` does not belong {}", inside(here.name));
        return (message, format!("move it {}", into(place.name)));
    }
    // The places that stand many times have keys too short to be taken for those of others.
    let stands_once = PLACES.iter().any(|place| place.name == here.name);
    let elsewhere = PLACES.iter().filter(|_| stands_once).flat_map(|place| place.keys);
    let help = match nearest(key, elsewhere.chain(here.keys).copied()) {
        Some(near) if here.keys.contains(&near) => format!("did you mean `{near}`?"),
        Some(near) => {
            let place = home(near).map_or("", |place| place.name);
            format!("did you mean `{near}`, which stands {}?", inside(place))
        }
        None => {
            let keys: Vec<_> = here.keys.iter().map(|key| format!("`{key}`")).collect();
            format!("the keys here are {}", keys.join(", "))
        }
    };
    (unknown, help)
}

fn quoted(name: &str) -> String {
    if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

fn inside(place: &str) -> String {
    match place {
        "" => "at the top level".to_owned(),
        name => format!("in {}", quoted(name)),
    }
}

fn into(place: &str) -> String {
    match place {
        "" => "to the top level".to_owned(),
        name => format!("into {}", quoted(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config_schema;
    use super::{DIAGNOSE_RULE, ERROR_TYPE, PLACES, THRESHOLD, WINDOW};

    #[test]
    fn the_keys_are_those_of_the_wire_form() {
        let schema = config_schema();
        let tables = [
            ("/properties", &PLACES[0]),
            ("/$defs/Evaluation/properties", &PLACES[1]),
            ("/$defs/Limits/properties", &PLACES[2]),
            ("/$defs/Gate/properties", &PLACES[3]),
            ("/$defs/ErrorType/properties", &ERROR_TYPE),
            ("/$defs/Threshold/properties", &THRESHOLD),
            ("/$defs/Window/properties", &WINDOW),
            ("/$defs/DiagnoseRule/properties", &DIAGNOSE_RULE),
        ];
        for (pointer, place) in tables {
            let members = schema.pointer(pointer).and_then(|p| p.as_object()).expect(pointer);
            let mut wire: Vec<&str> = members.keys().map(String::as_str).collect();
            let mut known = place.keys.to_vec();
            wire.sort_unstable();
            known.sort_unstable();
            assert_eq!(wire, known, "{pointer}");
        }
    }
}

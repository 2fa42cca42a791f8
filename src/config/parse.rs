//! From bytes to the wire form: soundness, places, and faults of type told in words.

use std::io::Read as _;
use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::error::ConfigError;
use super::source::{Kind, Node};
use crate::model::nearest;

/// Bytes that a config may have.
pub const MAX_CONFIG: usize = 1 << 20;

/// Reads a file, but no more of it than a config may have.
pub(super) fn read_file(path: &Path, name: &str) -> Result<Vec<u8>, ConfigError> {
    read_bounded(path).map_err(|error| {
        ConfigError::of_file(
            name,
            format!("the eval config cannot be read: {}", error.to_string().to_lowercase()),
            "-c takes the path of a file, and `agenteval init` writes one",
        )
    })
}

/// As much of a file as shows that it is too large.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(MAX_CONFIG as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The text without its byte order mark; `what` is what the file should be.
pub(super) fn utf8<'t>(bytes: &'t [u8], name: &str, what: &str) -> Result<&'t str, ConfigError> {
    if bytes.len() > MAX_CONFIG {
        return Err(ConfigError::of_file(
            name,
            format!(
                "the file is larger than the {MAX_CONFIG} bytes that {} may have",
                with_article(what)
            ),
            &format!("check that it is the {} and no trace", last_word(what)),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("the file is not UTF-8 at byte {}", error.valid_up_to());
        ConfigError::of_file(name, message, "save it as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

/// Refuses what is no JSON object, without recursion, and finds the places of the rest.
/// `what` is what the file should be, and `example` how one is written.
pub(super) fn sound(
    text: &str,
    name: &str,
    what: &str,
    example: &str,
) -> Result<Node, ConfigError> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let mut reason = without_place(&error);
        let start: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = (start + error.column().saturating_sub(1)).min(text.len());
        let rest = text.get(text.floor_char_boundary(at)..).unwrap_or_default();
        let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
        if rest.starts_with(['}', ']']) && before.trim_end().ends_with(',') {
            "trailing comma".clone_into(&mut reason);
        }
        let help = if text.trim().is_empty() {
            &format!("an empty {} is written {{}}", last_word(what))
        } else if rest.starts_with('/') || rest.starts_with('#') {
            "JSON has no comments; take it out"
        } else if reason == "trailing comma" {
            "take out the comma before it"
        } else if rest.starts_with('\'') {
            "JSON texts stand in double quotes"
        } else {
            "mend the JSON there"
        };
        let message = format!("the {what} is no valid JSON: {reason}");
        return Err(ConfigError::of_file(name, message, help).at(text, at..at + 1, &[]));
    }
    let node = Node::read(text).map_err(|too_deep| {
        ConfigError::of_file(
            name,
            format!("the {what} nests too deeply here"),
            "check the brackets",
        )
        .at(text, too_deep.0..too_deep.0 + 1, &[])
    })?;
    let found = match &node.kind {
        Kind::Object(_) => return Ok(node),
        Kind::Array(_) => "a list",
        Kind::Other => "a single value",
    };
    let message = format!("the {what} is {found}, not an object");
    Err(ConfigError::of_file(name, message, &format!("it is written such as {example}")).at(
        text,
        node.span.start..node.span.start + 1,
        &[],
    ))
}

/// Reads the wire form; faults of type are told in words.
pub(super) fn shape<T: DeserializeOwned>(
    text: &str,
    name: &str,
    node: &Node,
) -> Result<T, ConfigError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = path_of(error.path());
        let span = node.at(&path).map_or(0..1, |value| value.span.clone());
        let (message, help) = match without_place(error.inner()).as_str() {
            // All that is said of a word that is none.
            "expected value" => {
                let found = text.get(span.clone()).unwrap_or_default();
                (
                    format!("expected a word in quotes, found {found}"),
                    "write a word in quotes".into(),
                )
            }
            other => in_words(other),
        };
        ConfigError::of_file(name, message, &help).at(text, span, &path)
    })
}

fn path_of(path: &serde_path_to_error::Path) -> Vec<String> {
    use serde_path_to_error::Segment;
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.as_str(), |at| &text[..at]).to_owned()
}

/// Turns `serde`'s words into ours: what, and how to mend it.
fn in_words(text: &str) -> (String, String) {
    let kind = |what: &str| -> String {
        let (kind, value) = what.split_once(' ').unwrap_or((what, ""));
        match (kind, value.trim_start_matches("point ").trim_matches('`')) {
            ("string", value) => format!("the text {value}"),
            ("integer" | "floating", value) => value.to_owned(),
            ("boolean", value) => value.to_owned(),
            ("sequence", _) => "a list".to_owned(),
            ("map", _) => "an object".to_owned(),
            _ => what.to_owned(),
        }
    };
    let due = |what: &str| -> String {
        match what {
            "a string" | "string" | "str" => "a text in quotes".to_owned(),
            "f64" => "a number".to_owned(),
            "a sequence" => "a list in [ ]".to_owned(),
            "a map" => "an object in { }".to_owned(),
            _ if what.starts_with("struct ") => "an object in { }".to_owned(),
            _ if what.contains("enum ") || what.contains("variant") => {
                "a word in quotes".to_owned()
            }
            _ => what.to_owned(),
        }
    };
    let wrong = ["invalid type: ", "invalid value: "];
    if let Some((found, expected)) = wrong
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "))
    {
        let expected = due(expected);
        return (
            format!("expected {expected}, found {}", kind(found)),
            format!("write {expected}"),
        );
    }
    if let Some((word, words)) =
        text.strip_prefix("unknown variant `").and_then(|rest| rest.rsplit_once("`, expected "))
    {
        let words: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
        let listed: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let listed = match listed.split_last() {
            Some((last, head)) if !head.is_empty() => format!("{} or {last}", head.join(", ")),
            _ => listed.concat(),
        };
        let help = match nearest(word, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? valid here: {listed}"),
            None => format!("write {listed}"),
        };
        return (format!("`{word}` is not a word that is known here"), help);
    }
    if let Some(field) = text.strip_prefix("missing field ") {
        return (format!("{field} is missing"), format!("add the key {field}"));
    }
    (text.to_owned(), String::new())
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {what}")
}

fn last_word(what: &str) -> &str {
    what.rsplit(' ').next().unwrap_or(what)
}

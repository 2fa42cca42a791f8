//! From the bytes of a file to a baseline, strictly: what does not belong is told, never passed over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::wire::FileWire;
use super::write::digest;
use super::{Baseline, BaselineError, SCHEMA};
use crate::model::nearest;

/// How to get a sound file back; most baselines are under version control.
const RESTORE: &str = "restore the file from version control, or save the baseline anew";

impl Baseline {
    /// Reads a file; `name` is the baseline's name, `path` the file's for messages.
    ///
    /// # Errors
    ///
    /// Text that is no whole JSON, another form or version, unknown keys, values that no counted
    /// run can have, counts that do not add up, and a baseline without runs.
    pub fn from_json(bytes: &[u8], name: &str, path: &str) -> Result<Self, BaselineError> {
        let fail = |reason: String| BaselineError::Form { path: path.to_owned(), reason };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            fail(format!("the file is not UTF-8 at byte {}; {RESTORE}", error.valid_up_to()))
        })?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let wire: FileWire = serde_json::from_str(text).map_err(|error| fail(why(text, &error)))?;
        if wire.schema != SCHEMA {
            return Err(fail(other_form(&wire.schema)));
        }
        let judging = wire.judging.canonical();
        if judging.sha256() != wire.judging_sha256 {
            return Err(fail(format!(
                "`judging` was changed after it was saved: its hash is not `judging_sha256`; {RESTORE}"
            )));
        }
        let (rows, save_of): (Vec<_>, Vec<u32>) = wire.runs.0.into_iter().unzip();
        let baseline = Self {
            name: name.to_owned(),
            sha256: digest(bytes),
            agenteval: wire.agenteval,
            definitions: wire.definitions,
            config: wire.config.map(Into::into),
            judging,
            saves: wire.saves.into_iter().map(Into::into).collect(),
            inputs: wire.inputs.into_iter().map(Into::into).collect(),
            history: wire.history.into_iter().map(Into::into).collect(),
            rows,
            save_of,
        };
        if baseline.rows.is_empty() {
            return Err(BaselineError::Empty { path: path.to_owned() });
        }
        baseline.add_up().map_err(|reason| fail(format!("{reason}; {RESTORE}")))?;
        Ok(baseline)
    }

    /// Whether the runs are those that the saves tell of: a line that is lost in a merge is noticed.
    fn add_up(&self) -> Result<(), String> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for save in &self.save_of {
            *counts.entry(*save).or_default() += 1;
        }
        let mut last = 0;
        for save in &self.saves {
            if save.number <= last {
                return Err("`saves` are not in order, or one stands there twice".to_owned());
            }
            last = save.number;
            let there = counts.remove(&save.number).unwrap_or(0);
            if there != save.runs {
                return Err(format!(
                    "save {} says {} runs, but the file holds {there} of it: lines were lost or added",
                    save.number, save.runs
                ));
            }
        }
        match counts.keys().next() {
            Some(save) => Err(format!("runs are of save {save}, which `saves` does not have")),
            None => Ok(()),
        }
    }
}

/// Only what tells which form a file has.
#[derive(Deserialize)]
struct Head {
    schema: Option<Value>,
}

/// Why a text could not be read.
fn why(text: &str, error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    if let Some((number, _)) = (1..).zip(text.lines()).find(|(_, line)| line.starts_with("<<<<<<<"))
    {
        return format!(
            "a merge conflict was left in it (line {number}, `<<<<<<<`); take one side whole, or save the baseline anew"
        );
    }
    if error.to_string().contains("trailing characters") {
        return format!("something stands behind the end of the baseline ({place}); {RESTORE}");
    }
    // A number that is cut in two is no end of text to the parser.
    if error.is_eof() || (error.is_syntax() && !text.trim_end().ends_with(['}', ']'])) {
        return format!("the file breaks off in the middle ({place}); {RESTORE}");
    }
    if error.is_syntax() {
        return format!("this is no JSON ({place}: {}); {RESTORE}", bare(error));
    }
    match serde_json::from_str::<Head>(text) {
        Ok(Head { schema: Some(Value::String(schema)) }) if schema == SCHEMA => {
            format!("{} ({place}); {RESTORE}", in_words(&bare(error)))
        }
        Ok(Head { schema: Some(Value::String(schema)) }) => other_form(&schema),
        _ => format!("this is no baseline: it has no `\"schema\": \"{SCHEMA}\"`"),
    }
}

fn other_form(schema: &str) -> String {
    let shown: String = schema.chars().take(80).collect();
    let remedy = if schema.starts_with("agenteval.baseline/") {
        "use the agenteval that wrote it, or save the baseline anew"
    } else {
        "name a file that `agenteval baseline save` wrote"
    };
    format!("its schema is `{shown}`, and this agenteval reads `{SCHEMA}`; {remedy}")
}

/// The message without its place.
fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ")
        .map_or(text.as_str(), |at| text.get(..at).unwrap_or_default())
        .to_owned()
}

/// Names the nearest key for one that does not belong.
fn in_words(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else { return message.to_owned() };
    let Some((key, known)) = rest.rsplit_once("`, expected ") else { return message.to_owned() };
    let shown: String = key.chars().take(80).collect();
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    match nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown key `{shown}`, did you mean `{near}`?"),
        None => format!("unknown key `{shown}`; the keys here are {}", known.join(", ")),
    }
}

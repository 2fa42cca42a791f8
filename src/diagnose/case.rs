//! One run as the rules see it: its actions in order, each with what it was given and gave.
//!
//! Owns the decoding of recorded inputs and outputs, once an attempt. Texts are as recorded: whoever
//! prints them masks and escapes them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::evaluate::{RunRow, Timeline, Verdict};
use crate::model::{Attempt, Stamp, Time, Trajectory, usable_amount};

/// One run.
pub struct Case<'c> {
    /// As recorded.
    pub run: &'c Trajectory<'c>,
    /// As judged.
    pub timeline: &'c Timeline,
    /// Its recorded attempts of steps, in the order of its steps.
    pub actions: Vec<Action<'c>>,
}

/// One recorded attempt.
pub struct Action<'c> {
    /// The position of its step, from 1.
    pub step: u32,
    /// Its number among the attempts of its step, from 1.
    pub number: u32,
    /// Which record of the run it is.
    pub record: u32,
    /// Whether it tries again what failed: a later attempt of its step.
    pub retry: bool,
    /// What became of it.
    pub verdict: Verdict,
    /// Step type.
    pub kind: &'c str,
    /// Name of the tool or node.
    pub name: Option<&'c str>,
    /// Its error's type where it failed, as mapped by the config.
    pub error_type: Option<&'c str>,
    /// Everything recorded.
    pub attempt: &'c Attempt<'c>,
    /// What it was given, as JSON text, where the trace has it.
    pub input: Option<&'c str>,
    /// What it gave, as JSON text, where the trace has it.
    pub output: Option<&'c str>,
    /// When it began.
    pub start: Option<Time>,
    /// When it ended.
    pub end: Option<Time>,
}

impl<'c> Action<'c> {
    /// Its duration in seconds: as recorded, else from its times.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let recorded = self.attempt.duration_ms.map(|ms| ms / 1000.0);
        recorded
            .or_else(|| self.end?.seconds_since(self.start?))
            .filter(|seconds| usable_amount(*seconds))
    }

    /// Its name, else its type.
    #[must_use]
    pub fn label(&self) -> &'c str {
        self.name.unwrap_or(self.kind)
    }

    /// Its error as a noun: the type, or `an error` where none is recorded.
    #[must_use]
    pub fn fault(&self) -> &'c str {
        // The word of the taxonomy for no type tells a reader nothing.
        self.error_type.filter(|kind| *kind != "unspecified").unwrap_or("an error")
    }

    /// The text of its error.
    #[must_use]
    pub fn message(&self) -> Option<&'c str> {
        self.attempt.error.as_ref().and_then(|error| error.message.as_deref())
    }

    /// Whether it does the same as another: tool and input are known and equal.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.attempt.input.is_some()
            && self.attempt.input == other.attempt.input
    }
}

/// The keys under which readers keep what went in, and what came out.
const INPUTS: [&str; 3] = ["input", "arguments", "args"];
const OUTPUTS: [&str; 5] = ["output", "result", "response", "observation", "content"];

impl<'c> Case<'c> {
    /// The run as judged, with its actions. Readers must have kept records as JSON.
    #[must_use]
    pub fn of(run: &'c Trajectory<'c>, timeline: &'c Timeline) -> Self {
        let mut actions = Vec::with_capacity(run.attempts.len());
        for step in &timeline.steps {
            for judged in step.attempts.iter().filter(|judged| !judged.implied) {
                let Some(attempt) = run.attempts.get(judged.record as usize) else { continue };
                let (input, output) = texts(attempt);
                let time = |stamp: &Option<Stamp<'_>>| stamp.as_ref().and_then(Stamp::time);
                actions.push(Action {
                    step: step.position,
                    number: judged.number,
                    record: judged.record,
                    retry: judged.number > 1,
                    verdict: judged.verdict,
                    kind: &attempt.kind,
                    name: attempt.name.as_deref(),
                    error_type: judged.error_type.as_deref(),
                    attempt,
                    input,
                    output,
                    start: time(&attempt.started_at),
                    end: time(&attempt.ended_at),
                });
            }
        }
        Self { run, timeline, actions }
    }

    /// Its counts and outcome.
    #[must_use]
    pub fn row(&self) -> &RunRow {
        &self.timeline.row
    }

    /// The actions of each step in order.
    pub fn steps(&self) -> impl Iterator<Item = &[Action<'c>]> {
        self.actions.chunk_by(|a, b| a.step == b.step)
    }
}

/// What an attempt was given and gave.
fn texts<'c>(attempt: &'c Attempt<'_>) -> (Option<&'c str>, Option<&'c str>) {
    let Some(raw) = attempt.raw.as_deref() else { return (None, None) };
    let Ok(Fields(found)) = serde_json::from_str::<Fields<'c>>(raw) else { return (None, None) };
    let first = |found: &[Option<&'c RawValue>]| {
        found.iter().find_map(|value| *value).map(RawValue::get).filter(|text| *text != "null")
    };
    let (inputs, outputs) = found.split_at(INPUTS.len());
    (first(inputs), first(outputs))
}

/// The values under [`INPUTS`] and [`OUTPUTS`]; the others are passed over, since this is read of
/// every attempt. Of a key that comes twice the last counts.
struct Fields<'c>([Option<&'c RawValue>; INPUTS.len() + OUTPUTS.len()]);

impl<'de: 'c, 'c> Deserialize<'de> for Fields<'c> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields(Default::default());
                while let Some(Key(key)) = map.next_key()? {
                    match key.and_then(|at| fields.0.get_mut(at)) {
                        Some(field) => *field = Some(map.next_value()?),
                        None => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                Ok(fields)
            }
        }
        from.deserialize_map(Reader)
    }
}

/// The place of a key among [`INPUTS`] and [`OUTPUTS`].
struct Key(Option<usize>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key, E> {
                Ok(Key(INPUTS.iter().chain(&OUTPUTS).position(|known| *known == key)))
            }
        }
        from.deserialize_str(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::texts;
    use crate::model::Attempt;

    #[test]
    fn the_first_known_key_tells_and_null_tells_nothing() {
        let told = |raw: &'static str| {
            let attempt = Attempt { raw: Some(raw.into()), ..Attempt::default() };
            let (input, output) = texts(&attempt);
            (input.map(str::to_owned), output.map(str::to_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            told(
                r#"{"args": 1, "in\u0070ut": {"a": [2]}, "x": [1, {}], "content": "c", "result": 3}"#
            ),
            (some(r#"{"a": [2]}"#), some("3"))
        );
        assert_eq!(
            told(r#"{"input": null, "args": 1, "output": 1, "output": 2}"#),
            (None, some("2"))
        );
        assert_eq!(told("[1]"), (None, None));
        assert_eq!(told("{"), (None, None));
    }
}

//! From the mapping as written to the mapping as used: the one place where its values are checked.

use regex::Regex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::error::ConfigError;
use super::super::parse;
use super::super::source::Node;
use super::compiled::{Fields, Prefix, Slot, Source, TimeForm, Tree, Use};
use super::path::Path;
use super::wire::{self, AttemptsAre, DurationUnit, OtherLines, RecordKind, Wire};
use super::{MAPPING_SCHEMA, Mapping, keys};

mod rules;
mod sources;
mod times;

type Checked<T> = Result<T, ConfigError>;

/// Reads, checks and compiles a mapping.
pub(super) fn read(bytes: &[u8], name: &str) -> Checked<Mapping> {
    let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    let written = parse::utf8(bytes, name, "mapping")?;
    let json;
    let text = if is_yaml {
        json = from_yaml(written, name)?;
        json.as_str()
    } else {
        written
    };
    read_json(text, name).map_err(|error| if is_yaml { error.without_place() } else { error })
}

fn from_yaml(text: &str, name: &str) -> Checked<String> {
    let value: Value = serde_saphyr::from_str(text).map_err(|error| {
        let reason = error.to_string();
        let first = reason.lines().next().unwrap_or_default().to_owned();
        ConfigError::of_file(
            name,
            format!("the mapping is no valid YAML: {first}"),
            "mend it there",
        )
    })?;
    Ok(value.to_string())
}

fn read_json(text: &str, name: &str) -> Checked<Mapping> {
    let node = parse::sound(text, name, "mapping", "{\"schema\": \"agenteval.map/1\", ...}")?;
    keys::check(&node, text, name)?;
    let wire: Wire = parse::shape(text, name, &node)?;
    let mut check = Check {
        text,
        name,
        node: &node,
        levels: Default::default(),
        uses: Vec::new(),
        event_level: if wire.record == Some(RecordKind::Run) { 2 } else { 1 },
        form: TimeForm { spelling: super::Spelling::Auto, zone: None },
        unit: wire.duration_unit,
        in_rule: None,
    };
    check.mapping(&wire)
}

/// SHA-256 of what a mapping says, without remarks and in one spelling.
fn digest(wire: &Wire) -> String {
    let bare = Wire { notes: None, json_schema: None, ..wire.clone() };
    let json = serde_json::to_string(&bare).unwrap_or_default();
    Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checks; knows the file for its messages, and gathers the paths.
struct Check<'c> {
    text: &'c str,
    name: &'c str,
    node: &'c Node,
    levels: [Tree; 3],
    uses: Vec<Use>,
    event_level: usize,
    form: TimeForm,
    unit: Option<DurationUnit>,
    in_rule: Option<usize>,
}

/// What is done with the values of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Any,
    Time,
    Duration,
}

impl Check<'_> {
    fn fault<T>(&self, at: &[String], message: impl Into<String>, help: &str) -> Checked<T> {
        let span = self.node.at(at).map_or(0..1, |value| value.span.clone());
        Err(ConfigError::of_file(self.name, message.into(), help).at(self.text, span, at))
    }

    fn mapping(&mut self, wire: &Wire) -> Checked<Mapping> {
        if wire.schema != MAPPING_SCHEMA {
            let at = if wire.schema.is_empty() { vec![] } else { here(&["schema"]) };
            return self.fault(
                &at,
                format!("this is no mapping of the form {MAPPING_SCHEMA}"),
                &format!("begin it with \"schema\": \"{MAPPING_SCHEMA}\""),
            );
        }
        self.form = TimeForm {
            spelling: self.spelling(wire.time_format.as_deref(), &here(&["time_format"]))?,
            zone: self.zone(wire.time_zone.as_deref(), &here(&["time_zone"]))?,
        };
        let event = self.event_level;
        let records = match &wire.records {
            None => None,
            Some(path) => Some(self.list(path, &here(&["records"]), 0)?),
        };
        let whole_runs = event == 2;
        let mut steps = Vec::new();
        for (nth, path) in wire.steps.iter().flat_map(wire::Texts::all).enumerate() {
            if !whole_runs {
                let help = "add \"record\": \"run\"; for a list of events use `records`";
                return self.fault(
                    &here(&["steps"]),
                    "`steps` is for records that are whole runs",
                    help,
                );
            }
            let mut at = here(&["steps"]);
            if matches!(wire.steps, Some(wire::Texts::Many(_))) {
                at.push(nth.to_string());
            }
            steps.push(self.list(path, &at, 1)?);
        }
        if whole_runs && steps.is_empty() && wire.step.is_some() {
            return self.fault(
                &here(&["step"]),
                "records are whole runs, but nothing says where their steps are",
                "add \"steps\": \"path.of.list[]\", or take `step` out",
            );
        }
        let lines = wire.lines.clone().unwrap_or_default();
        let prefix = self.prefix(lines.prefix.as_deref())?;
        let unwrap = match &lines.unwrap {
            None => None,
            Some(path) => {
                let path = self.path(path, &here(&["lines", "unwrap"]))?;
                let mut tree = Tree::default();
                tree.slot(&path);
                Some(tree)
            }
        };
        // Named rules first: their fields stand before those of all records.
        let general_run = wire.run.clone().unwrap_or_default();
        let general_step = wire.step.clone().unwrap_or_default();
        let level = if whole_runs { 1 } else { event };
        let run = self.run_fields(&general_run, &here(&["run"]), level)?;
        let step = self.step_fields(&general_step, &here(&["step"]), event)?;
        let of_events = if whole_runs { Fields::default() } else { run.clone() };
        let rules = self.rules(wire, &of_events, &step)?;
        let group = wire.group.clone().unwrap_or_default();
        let mut key = |source: &Option<wire::Source>, name: &str, or: Option<&Source>| match source
        {
            Some(source) => {
                let at = here(&["group", name]);
                let level = if name == "run" { level } else { event };
                self.source(source, &at, level, Role::Any, Some(&format!("group.{name}")))
            }
            None => Ok(or.cloned().unwrap_or_default()),
        };
        let run_key = key(&group.run, "run", run.of_run(super::RunField::RunId))?;
        let step_key = key(&group.step, "step", step.of_step(super::StepField::StepId))?;
        let attempt_key = key(&group.attempt, "attempt", None)?;
        let time = match &wire.time {
            Some(time) => self.source(time, &here(&["time"]), event, Role::Time, Some("time"))?,
            None => Source::default(),
        };
        let same = match &wire.same {
            Some(same) => self.source(same, &here(&["same"]), event, Role::Any, Some("same"))?,
            None => Source::default(),
        };
        if wire.first_attempt.is_some_and(|first| first > 1) {
            return self.fault(
                &here(&["first_attempt"]),
                "the first attempt has the number 0 or 1",
                "write 0 or 1",
            );
        }
        let lower = |(word, means): (&String, &String)| (word.trim().to_lowercase(), means.clone());
        Ok(Mapping {
            name: self.name.to_owned(),
            ready: false,
            sha256: digest(wire),
            by_lines: lines.prefix.is_some_and(|prefix| prefix != "none"),
            prefix,
            unwrap,
            refuses_other: lines.other == Some(OtherLines::Refuse),
            whole_runs,
            records,
            steps,
            run_key,
            step_key,
            attempt_key,
            time,
            same,
            run,
            rules,
            statuses: wire.statuses.iter().flatten().map(lower).collect(),
            more_attempts: u32::from(wire.attempts == Some(AttemptsAre::Retries)),
            attempt_offset: u32::from(wire.first_attempt == Some(0)),
            turns: wire.turns.clone().unwrap_or_default(),
            levels: std::mem::take(&mut self.levels),
            uses: std::mem::take(&mut self.uses),
        })
    }

    fn path(&self, text: &str, at: &[String]) -> Checked<Path> {
        match Path::read(text) {
            Ok(path) => Ok(path),
            Err(reason) => self.fault(
                at,
                format!("`{text}` is no path: {reason}"),
                "paths are written such as a.b, list[].c, list[0], \"key.with.dots\"",
            ),
        }
    }

    fn slot(&mut self, text: &str, at: &[String], level: usize) -> Checked<Slot> {
        let path = self.path(text, at)?;
        let inner = Path { outer: false, parts: path.parts.clone() };
        let level = if path.outer { level.saturating_sub(1) } else { level };
        let slots = self.levels.get_mut(level).map(|tree| tree.slot(&inner));
        Ok(Slot { level, at: slots.unwrap_or_default() })
    }

    /// The slot of a list, whose path may end in `[]`.
    fn list(&mut self, text: &str, at: &[String], level: usize) -> Checked<usize> {
        let path = self.path(text, at)?.of_list();
        if path.outer || path.parts.contains(&super::path::Part::Each) {
            return self.fault(
                at,
                format!("`{text}` does not name one list"),
                "write the path from the top of the record; `[]` stands at its end alone",
            );
        }
        let slot = self.levels.get_mut(level).map(|tree| tree.slot(&path)).unwrap_or_default();
        self.uses.push(Use {
            field: at.join("."),
            slots: vec![Slot { level, at: slot }],
            rule: None,
            can_do_without: false,
        });
        Ok(slot)
    }

    fn prefix(&self, prefix: Option<&str>) -> Checked<Prefix> {
        Ok(match prefix {
            None | Some("container") => Prefix::Container,
            Some("any") => Prefix::Any,
            Some("none") => Prefix::None,
            Some(pattern) => {
                let at = here(&["lines", "prefix"]);
                Prefix::Pattern(self.regex(&format!("^(?:{pattern})"), &at)?)
            }
        })
    }

    fn regex(&self, pattern: &str, at: &[String]) -> Checked<Regex> {
        let built = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
        match built {
            Ok(regex) => Ok(regex),
            Err(error) => {
                let reason = error.to_string();
                let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.fault(
                    at,
                    format!("this is no regular expression: {last}"),
                    "mend the pattern; in JSON a backslash is written twice",
                )
            }
        }
    }
}

fn here(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn deeper(at: &[String], more: &[&str]) -> Vec<String> {
    at.iter().cloned().chain(more.iter().map(|part| (*part).to_owned())).collect()
}

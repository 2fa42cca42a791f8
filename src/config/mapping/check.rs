//! From the mapping as written to the mapping as used: the one place where its values are checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::error::ConfigError;
use super::super::parse;
use super::super::source::Node;
use super::compiled::{
    Fields, Literal, Origin, Pick, Prefix, Rule, Slot, Source, Test, TimeForm, Tree, Use,
};
use super::path::Path;
use super::wire::{self, AttemptsAre, DurationUnit, OtherLines, RecordKind, Values, Wire};
use super::{MAPPING_SCHEMA, Mapping, keys};

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

    fn source(
        &mut self,
        source: &wire::Source,
        at: &[String],
        level: usize,
        role: Role,
        field: Option<&str>,
    ) -> Checked<Source> {
        let mut picks = Vec::new();
        self.gather(source, at, level, role, &mut picks)?;
        if let Some(field) = field {
            let mut slots = Vec::new();
            for pick in &picks {
                match &pick.from {
                    Origin::Slot(slot) => slots.push(*slot),
                    Origin::Join(more) => slots.extend(more),
                    Origin::Constant(_) => {}
                }
            }
            let can_do_without = picks.iter().any(|p| matches!(p.from, Origin::Constant(_)));
            let rule = self.in_rule;
            self.uses.push(Use { field: field.to_owned(), slots, rule, can_do_without });
        }
        Ok(Source { picks })
    }

    fn gather(
        &mut self,
        source: &wire::Source,
        at: &[String],
        level: usize,
        role: Role,
        picks: &mut Vec<Pick>,
    ) -> Checked<()> {
        let pick = match source {
            wire::Source::Path(path) => {
                wire::Pick { path: Some(path.clone()), ..wire::Pick::default() }
            }
            wire::Source::Pick(pick) => (**pick).clone(),
            wire::Source::FirstOf(sources) => {
                if sources.is_empty() {
                    return self.fault(
                        at,
                        "the list of paths is empty",
                        "name one, or take it out",
                    );
                }
                for (nth, source) in sources.iter().enumerate() {
                    self.gather(source, &deeper(at, &[&nth.to_string()]), level, role, picks)?;
                }
                return Ok(());
            }
        };
        let from = self.origin(&pick, at, level)?;
        let inside = |key: &str| {
            if matches!(source, wire::Source::Path(_)) { at.to_vec() } else { deeper(at, &[key]) }
        };
        let pattern = match &pick.matches {
            Some(pattern) => Some(self.regex(pattern, &inside("match"))?),
            None if pick.line.is_some() => {
                return self.fault(
                    &inside("line"),
                    "`line` says where to match, but there is no `match`",
                    "add `match`",
                );
            }
            None => None,
        };
        let values = match &pick.values {
            None => None,
            Some(values) => Some(Arc::new(self.values(values, &inside("values"))?)),
        };
        let unit = pick.unit.or(self.unit);
        if role == Role::Duration && unit.is_none() {
            return self.fault(
                at,
                "nothing says in which unit this duration is",
                "add `duration_unit` at the top, or `unit` here: s, ms, us, ns or text",
            );
        }
        if role != Role::Duration && pick.unit.is_some() {
            return self.fault(&inside("unit"), "this field is no duration", "take `unit` out");
        }
        if role != Role::Time && (pick.format.is_some() || pick.zone.is_some()) {
            let key = if pick.format.is_some() { "format" } else { "zone" };
            return self.fault(&inside(key), "this field is no time", &format!("take `{key}` out"));
        }
        let time = TimeForm {
            spelling: match &pick.format {
                Some(format) => self.spelling(Some(format), &inside("format"))?,
                None => self.form.spelling.clone(),
            },
            zone: match &pick.zone {
                Some(zone) => self.zone(Some(zone), &inside("zone"))?,
                None => self.form.zone,
            },
        };
        picks.push(Pick {
            from,
            pattern,
            line: pick.line,
            values,
            time,
            unit,
            of_rule: self.in_rule.is_some(),
        });
        Ok(())
    }

    fn origin(&mut self, pick: &wire::Pick, at: &[String], level: usize) -> Checked<Origin> {
        match (&pick.path, &pick.constant, &pick.join) {
            (Some(path), None, None) => {
                let place = deeper(at, &["path"]);
                let place = if self.node.at(&place).is_some() { place } else { at.to_vec() };
                Ok(Origin::Slot(self.slot(path, &place, level)?))
            }
            (None, Some(value), None) => match serde_json::value::to_raw_value(value) {
                Ok(raw) => Ok(Origin::Constant(raw)),
                Err(error) => self.fault(at, error.to_string(), "write a simple value"),
            },
            (None, None, Some(paths)) => {
                let mut slots = Vec::new();
                for (nth, path) in paths.iter().enumerate() {
                    slots.push(self.slot(path, &deeper(at, &["join", &nth.to_string()]), level)?);
                }
                Ok(Origin::Join(slots))
            }
            (None, None, None) => self.fault(
                at,
                "nothing says where this value comes from",
                "add `path`, `const` or `join`",
            ),
            _ => self.fault(
                at,
                "this value comes from two places",
                "keep one of `path`, `const` and `join`; alternatives stand in a list",
            ),
        }
    }

    fn values(&self, values: &Values, at: &[String]) -> Checked<BTreeMap<String, String>> {
        let failed = |words: &[&str]| {
            words.iter().map(|word| ((*word).to_owned(), "failed".to_owned())).collect()
        };
        match values {
            Values::Table(table) => {
                Ok(table.iter().map(|(k, v)| (k.trim().to_lowercase(), v.clone())).collect())
            }
            Values::Known(name) => match name.as_str() {
                "pino_levels" => Ok(failed(&["50", "60"])),
                "syslog_levels" => Ok(failed(&["0", "1", "2", "3"])),
                "level_words" => Ok(failed(&[
                    "error",
                    "err",
                    "critical",
                    "crit",
                    "fatal",
                    "emergency",
                    "emerg",
                    "alert",
                ])),
                other => self.fault(
                    at,
                    format!("there is no table of values `{other}`"),
                    "write pino_levels, syslog_levels, level_words, or a table in { }",
                ),
            },
        }
    }

    fn fields(
        &mut self,
        sources: Vec<(&'static str, Option<&wire::Source>)>,
        tokens: Option<&wire::TokenFields>,
        at: &[String],
        level: usize,
    ) -> Checked<Fields> {
        let label =
            |key: &str| at.iter().map(String::as_str).chain([key]).collect::<Vec<_>>().join(".");
        let mut fields = Fields::default();
        for (key, source) in sources {
            let role = match key {
                "started_at" | "ended_at" => Role::Time,
                "duration" => Role::Duration,
                _ => Role::Any,
            };
            fields.simple.push(match source {
                Some(source) => {
                    self.source(source, &deeper(at, &[key]), level, role, Some(&label(key)))?
                }
                None => Source::default(),
            });
        }
        if let Some(tokens) = tokens {
            for (key, source) in tokens.sources() {
                let label = label(&format!("tokens.{key}"));
                fields.tokens.push(match source {
                    Some(source) => {
                        let at = deeper(at, &["tokens", key]);
                        self.source(source, &at, level, Role::Any, Some(&label))?
                    }
                    None => Source::default(),
                });
            }
        }
        Ok(fields)
    }

    fn run_fields(
        &mut self,
        wire: &wire::RunFields,
        at: &[String],
        level: usize,
    ) -> Checked<Fields> {
        let mut fields = self.fields(wire.sources(), wire.tokens.as_ref(), at, level)?;
        for (key, source) in wire.tags.iter().flatten() {
            let place = deeper(at, &["tags", key]);
            let source = self.source(source, &place, level, Role::Any, Some(&place.join(".")))?;
            fields.tags.push((key.clone(), source));
        }
        Ok(fields)
    }

    fn step_fields(
        &mut self,
        wire: &wire::StepFields,
        at: &[String],
        level: usize,
    ) -> Checked<Fields> {
        self.fields(wire.sources(), wire.tokens.as_ref(), at, level)
    }

    fn rules(&mut self, wire: &Wire, run: &Fields, step: &Fields) -> Checked<Vec<Rule>> {
        let Some(rules) = &wire.events else {
            let class = super::Class::Step;
            return Ok(vec![Rule { tests: vec![], class, run: run.clone(), step: step.clone() }]);
        };
        if rules.is_empty() {
            return self.fault(
                &here(&["events"]),
                "the list of rules is empty, so no record would be read",
                "add a rule, or take `events` out: each record is then a step",
            );
        }
        let level = self.event_level;
        let mut compiled = Vec::new();
        for (nth, rule) in rules.iter().enumerate() {
            let at = here(&["events", &nth.to_string()]);
            let mut tests = Vec::new();
            for (path, test) in &rule.when {
                tests.push(self.test(path, test, &deeper(&at, &["when", path]), level)?);
            }
            self.in_rule = Some(nth);
            let own_run = rule.run.clone().unwrap_or_default();
            let own_step = rule.step.clone().unwrap_or_default();
            let own_run = self.run_fields(&own_run, &deeper(&at, &["run"]), level)?;
            let own_step = self.step_fields(&own_step, &deeper(&at, &["step"]), level)?;
            compiled.push(Rule {
                tests,
                class: rule.is,
                run: before(own_run, run),
                step: before(own_step, step),
            });
        }
        self.in_rule = None;
        Ok(compiled)
    }

    fn test(&mut self, path: &str, test: &Value, at: &[String], level: usize) -> Checked<Test> {
        let slot = self.slot(path, at, level)?;
        let mut compiled = Test {
            slot,
            exists: None,
            pattern: None,
            any_of: vec![],
            none_of: vec![],
            min: None,
            max: None,
        };
        match test {
            Value::Null => compiled.exists = Some(false),
            Value::Object(_) => {
                let conditions: wire::Conditions =
                    serde_json::from_value(test.clone()).or_else(|error| {
                        self.fault(at, format!("this is no test: {error}"), "write a value, a list, or {\"exists\", \"match\", \"not\", \"min\", \"max\"}")
                    })?;
                compiled.exists = conditions.exists;
                compiled.min = conditions.min;
                compiled.max = conditions.max;
                if let Some(pattern) = &conditions.matches {
                    compiled.pattern = Some(self.regex(pattern, &deeper(at, &["match"]))?);
                }
                if let Some(not) = &conditions.not {
                    compiled.none_of = self.literals(not, &deeper(at, &["not"]))?;
                }
            }
            value => compiled.any_of = self.literals(value, at)?,
        }
        let can_do_without = compiled.exists == Some(false) || !compiled.none_of.is_empty();
        self.uses.push(Use { field: at.join("."), slots: vec![slot], rule: None, can_do_without });
        Ok(compiled)
    }

    fn literals(&self, value: &Value, at: &[String]) -> Checked<Vec<Literal>> {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut literals = Vec::new();
        for value in values {
            literals.push(match value {
                Value::String(text) => Literal::Text(text.clone()),
                Value::Bool(flag) => Literal::Flag(*flag),
                Value::Number(number) => Literal::Number(number.as_f64().unwrap_or(f64::NAN)),
                _ => {
                    return self.fault(
                        at,
                        "a value is compared with texts, numbers and flags",
                        "write one of these; {\"exists\": false} is for what is not there",
                    );
                }
            });
        }
        Ok(literals)
    }
}

/// The sources of a rule, and behind them those of all records.
fn before(own: Fields, general: &Fields) -> Fields {
    let join = |own: Vec<Source>, general: &[Source]| {
        let most = own.len().max(general.len());
        let mut own = own.into_iter();
        let both = (0..most).map(|nth| {
            let mut source = own.next().unwrap_or_default();
            source.picks.extend(general.get(nth).into_iter().flat_map(|s| s.picks.iter().cloned()));
            source
        });
        both.collect::<Vec<_>>()
    };
    let mut tags = own.tags;
    let more: Vec<_> = general
        .tags
        .iter()
        .filter(|(key, _)| tags.iter().all(|(have, _)| have != key))
        .cloned()
        .collect();
    tags.extend(more);
    Fields {
        simple: join(own.simple, &general.simple),
        tokens: join(own.tokens, &general.tokens),
        tags,
    }
}

fn here(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn deeper(at: &[String], more: &[&str]) -> Vec<String> {
    at.iter().cloned().chain(more.iter().map(|part| (*part).to_owned())).collect()
}

//! Where values come from: paths, constants, patterns, tables, and the fields that use them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::compiled::{Fields, Origin, Pick, Source, TimeForm, Use};
use super::super::wire::{self, Values};
use super::{Check, Checked, Role, deeper};

impl Check<'_> {
    pub(super) fn source(
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

    pub(super) fn gather(
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

    pub(super) fn origin(
        &mut self,
        pick: &wire::Pick,
        at: &[String],
        level: usize,
    ) -> Checked<Origin> {
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

    pub(super) fn values(
        &self,
        values: &Values,
        at: &[String],
    ) -> Checked<BTreeMap<String, String>> {
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

    pub(super) fn fields(
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

    pub(super) fn run_fields(
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

    pub(super) fn step_fields(
        &mut self,
        wire: &wire::StepFields,
        at: &[String],
        level: usize,
    ) -> Checked<Fields> {
        self.fields(wire.sources(), wire.tokens.as_ref(), at, level)
    }
}

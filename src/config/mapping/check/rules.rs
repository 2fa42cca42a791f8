//! The rules that say what a record is, and their tests.

use serde_json::Value;

use super::super::compiled::{Fields, Literal, Rule, Source, Test, Use};
use super::super::wire::{self, Class, Wire};
use super::{Check, Checked, deeper, here};

impl Check<'_> {
    pub(super) fn rules(&mut self, wire: &Wire, run: &Fields, step: &Fields) -> Checked<Vec<Rule>> {
        let Some(rules) = &wire.events else {
            let class = Class::Step;
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

    pub(super) fn test(
        &mut self,
        path: &str,
        test: &Value,
        at: &[String],
        level: usize,
    ) -> Checked<Test> {
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

    pub(super) fn literals(&self, value: &Value, at: &[String]) -> Checked<Vec<Literal>> {
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

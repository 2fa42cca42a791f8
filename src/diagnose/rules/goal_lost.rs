//! A constraint of the task that changes on the way.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::model::{Final, input_hash, mask};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "goal_lost",
    title: "the goal or a constraint changes on the way",
    about: "A field `goal`, `objective`, `constraints`, `requirements`, `budget` or `deadline` of the first plan (a step of the type or name plan; its output, else its input), or a field inside of it, has another value in a later plan or in `final`; fields inside that count down or up (remaining, left, used, spent) are left out. Values are shown with `--include-content` alone.",
    remedy: "Keep goal and constraints outside of what the agent may rewrite, and hold each plan and the result against them.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// Names of fields that hold what must stay.
const FIELDS: [&str; 6] =
    ["goal", "objective", "constraints", "requirements", "budget", "deadline"];

/// Words in names of inner fields that are meant to change.
const COUNTERS: [&str; 5] = ["remaining", "left", "used", "spent", "elapsed"];

/// The fields of one JSON text; those that are objects by what is inside of them.
fn fields(text: &str) -> BTreeMap<String, (u64, String)> {
    let mut found = BTreeMap::new();
    let inner: Option<String> =
        text.trim_start().starts_with('"').then(|| serde_json::from_str(text).ok()).flatten();
    let text = inner.as_deref().unwrap_or(text);
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        return found;
    };
    let mut keep = |name: String, value: &RawValue| {
        if let Some(hash) = input_hash(value.get()) {
            found.insert(name, (hash, value.get().to_owned()));
        }
    };
    for (key, value) in members.iter().filter(|(key, _)| FIELDS.contains(&key.as_str())) {
        match serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()) {
            Ok(inside) => {
                let counts = |name: &str| {
                    let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
                    words.any(|word| COUNTERS.contains(&word.to_ascii_lowercase().as_str()))
                };
                for (name, value) in inside.into_iter().filter(|(name, _)| !counts(name)) {
                    keep(format!("{key}.{name}"), value);
                }
            }
            Err(_) => keep(key.clone(), value),
        }
    }
    found
}

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    // What comes after what is not known there.
    if case.run.order_unknown {
        return;
    }
    let plans = case.actions.iter().filter(|action| {
        let is_plan = |text: &str| {
            text.to_ascii_lowercase()
                .split(|c: char| !c.is_ascii_alphabetic())
                .any(|word| word == "plan" || word == "replan")
        };
        is_plan(action.kind) || action.name.is_some_and(is_plan)
    });
    let mut first: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for plan in plans {
        let mut here = plan.input.map(fields).unwrap_or_default();
        here.extend(plan.output.map(fields).unwrap_or_default());
        let changed: Vec<(String, String)> = differences(&first, &here, settings.shows_content);
        if let Some((name, evidence)) = changed.first() {
            let mut finding = format!("`{name}` {evidence}");
            if changed.len() > 1 {
                finding.push_str(&format!(", and {} more", changed.len() - 1));
            }
            sink.at(plan, finding);
        }
        for (name, value) in here {
            first.entry(name).or_insert(value);
        }
    }
    if first.is_empty() {
        return;
    }
    sink.examined(1);
    if let Final::Json(text) = &case.run.final_output {
        for (name, evidence) in differences(&first, &fields(text), settings.shows_content) {
            sink.about(Some("final"), format!("`{name}` {evidence}"));
        }
    }
}

/// Fields that are in both with other values.
fn differences(
    first: &BTreeMap<String, (u64, String)>,
    here: &BTreeMap<String, (u64, String)>,
    shows_content: bool,
) -> Vec<(String, String)> {
    // Masked first: half of a secret is no longer known for one.
    let short = |text: &str| {
        let head: String = text.chars().take(SHOWN * 20).collect();
        mask(&head).chars().take(SHOWN).collect::<String>()
    };
    here.iter()
        .filter_map(|(name, (hash, text))| {
            let (before, was) = first.get(name)?;
            let told = || match shows_content {
                true => format!("was {} and became {}", short(was), short(text)),
                false => "has another value".to_owned(),
            };
            (before != hash).then(|| (name.clone(), told()))
        })
        .collect()
}

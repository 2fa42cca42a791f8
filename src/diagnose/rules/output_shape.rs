//! An output of a tool that has another shape than most calls of it give.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnose::{CallFact, Check, Facts, Finding, Grade, Rule, Settings, Sink};

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "output_shape_changed",
    title: "an output differs from most calls of the tool",
    about: "A key that at least 95% of passed calls of a tool have in their JSON output, with one type, is missing in a call or has another type, and at most 5% of the calls (or one) differ so; outputs with more than 40 keys are left out; needs recorded outputs and as many passed calls as the limit.",
    remedy: "Look at these outputs: a key may be optional, or the tool may have changed. Say what must be there in `tool_schemas` of the config, and pin the version of the tool.",
    grade: Grade::Warning,
    limit: Some((20.0, "passed calls of a tool that are needed")),
    check: Check::Set(check),
};

/// The share of calls that a key must have to be expected.
const USUAL: f64 = 0.95;

/// The share of calls that may differ; more are another form of the same tool.
const FEW: f64 = 0.05;

/// What stands for an object with more keys than are kept: which it has is not known.
const CUT: &str = "object";

/// Keys and types of one shape; `None` where it is no object.
fn keys(shape: &str) -> Option<BTreeMap<&str, &str>> {
    let inside = shape.strip_prefix('{')?.strip_suffix('}')?;
    Some(inside.split(',').filter_map(|part| part.rsplit_once(':')).collect())
}

#[expect(clippy::cast_precision_loss, reason = "numbers of calls")]
fn check(facts: &Facts<'_>, _: &Settings, sink: &mut Sink<'_>) {
    let mut tools: BTreeMap<&str, Vec<(usize, &CallFact, &str)>> = BTreeMap::new();
    for (run, found) in facts.runs.iter().enumerate() {
        for call in found.calls.iter().filter(|call| call.passed == Some(true)) {
            if let Some(shape) = call.shape.as_deref().filter(|shape| *shape != CUT) {
                tools.entry(&call.label).or_default().push((run, call, shape));
            }
        }
    }
    let (mut examined, mut affected) = (BTreeSet::new(), BTreeSet::new());
    for (tool, calls) in tools {
        if (calls.len() as f64) < sink.limit() {
            continue;
        }
        examined.extend(calls.iter().map(|(run, ..)| *run));
        let mut seen: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (_, _, shape) in &calls {
            for (key, kind) in keys(shape).into_iter().flatten() {
                *seen.entry(key).or_default().entry(kind).or_default() += 1;
            }
        }
        let usual: Vec<(&str, &str, usize)> = seen
            .iter()
            .filter_map(|(key, kinds)| {
                let kinds = kinds.iter().filter(|(kind, _)| **kind != "null");
                let (kind, number) = kinds.max_by_key(|(_, number)| **number)?;
                (*number as f64 >= USUAL * calls.len() as f64).then_some((*key, *kind, *number))
            })
            .collect();
        let mut deviating = Vec::new();
        for (run, call, shape) in &calls {
            let found = keys(shape);
            let Some((key, kind, number)) = usual.iter().find(|(key, kind, _)| {
                let here = found.as_ref().and_then(|keys| keys.get(key)).copied();
                // A null is a value that is not there today, and no other shape.
                here != Some("null") && here != Some(*kind)
            }) else {
                continue;
            };
            let here = match found.as_ref() {
                None => format!("the output is {}", with_article(shape)),
                Some(keys) => match keys.get(key) {
                    Some(other) => format!("`{key}` is {}", with_article(other)),
                    None => format!("`{key}` is missing"),
                },
            };
            deviating.push(Finding {
                code: RULE.code,
                run: u32::try_from(*run).ok(),
                step: Some(call.step),
                attempt: Some(call.number),
                bytes: call.bytes,
                subject: Some(tool.to_owned()),
                evidence: format!(
                    "{here}; in {number} of {} calls `{key}` is {}",
                    calls.len(),
                    with_article(kind)
                ),
            });
        }
        if deviating.len() as f64 > (FEW * calls.len() as f64).max(1.0) {
            continue;
        }
        affected.extend(deviating.iter().filter_map(|finding| finding.run));
        deviating.into_iter().for_each(|finding| sink.add(finding));
    }
    sink.examined(examined.len() as u64);
    sink.affected(affected.len() as u64);
}

/// A type as a noun.
fn with_article(kind: &str) -> String {
    match kind {
        "text" | "null" => kind.to_owned(),
        "object" => "an object".to_owned(),
        kind => format!("a {kind}"),
    }
}

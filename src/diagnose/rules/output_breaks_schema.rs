//! A tool that gives what its declared schema does not allow.

use crate::diagnose::{Case, Check, Grade, Rule, Settings, Sink};
use crate::evaluate::Verdict;

/// The rule.
pub(super) const RULE: Rule = Rule {
    code: "output_breaks_schema",
    title: "a tool's output does not hold to its schema",
    about: "A passed call of a tool that `tool_schemas` of the config names gives JSON that its JSON Schema does not allow; needs recorded outputs, and without that list nothing is examined.",
    remedy: "Validate the output where the tool answers and make a call fail that breaks it; mend the tool, or its schema where that is out of date.",
    grade: Grade::Warning,
    limit: None,
    check: Check::Run(check),
};

fn check(case: &Case<'_>, settings: &Settings, sink: &mut Sink<'_>) {
    let mut examined = false;
    for action in case.actions.iter().filter(|action| action.verdict == Verdict::Passed) {
        let Some(output) = action.output else { continue };
        if !settings.tool_schemas.knows(action.label()) {
            continue;
        }
        examined = true;
        if let Some(fault) = settings.tool_schemas.fault(action.label(), output) {
            sink.at(action, fault);
        }
    }
    if examined {
        sink.examined(1);
    }
}

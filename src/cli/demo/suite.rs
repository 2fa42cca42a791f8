//! The runs of the demo: a support agent before and after a change of its prompt.
//!
//! Every run is spelt out by one letter, so that what the demo shows can be counted by hand:
//! `+` completed, `r` completed after a retry, `w` failed with a wrong answer, `t` failed because
//! the knowledge base timed out three times, `p` completed but its plan had to be made twice.

use serde_json::{Value, json};

/// A task with the runs of the baseline and of the candidate.
type Task = (&'static str, &'static str, &'static str);

/// The suite. The change made the agent ask the knowledge base for everything: refunds time out.
const TASKS: [Task; 36] = [
    ("refund-003", "+++", "+t+"),
    ("refund-007", "++r", "t+t"),
    ("refund-009", "+w+", "twt"),
    ("refund-011", "r++", "+t+"),
    ("refund-014", "+++", "ttt"),
    ("refund-016", "w++", "tw+"),
    ("refund-020", "++r", "ttt"),
    ("refund-021", "+++", "+rt"),
    ("refund-025", "+++", "t++"),
    ("refund-028", "ww+", "wtw"),
    ("退款-031", "+++", "+tt"),
    ("退款-034", "+r+", "r+t"),
    ("address-002", "+++", "+++"),
    ("address-005", "+++", "++r"),
    ("address-008", "r++", "+++"),
    ("address-012", "+w+", "++w"),
    ("address-015", "+++", "+++"),
    ("address-019", "++p", "+++"),
    ("地址-022", "+++", "+++"),
    ("invoice-001", "+++", "+++"),
    ("invoice-004", "w+w", "w++"),
    ("invoice-006", "+++", "+r+"),
    ("invoice-010", "+r+", "++r"),
    ("invoice-013", "+++", "+++"),
    ("invoice-017", "++w", "+w+"),
    ("invoice-018", "www", "wrw"),
    ("发票-023", "+++", "+++"),
    ("cancel-024", "+++", "+++"),
    ("cancel-026", "p++", "+p+"),
    ("cancel-027", "+++", "+++"),
    ("cancel-029", "++r", "r++"),
    ("cancel-030", "+++", "+++"),
    ("cancel-032", "w++", "++w"),
    ("cancel-033", "+++", "+++"),
    ("cancel-035", "+++", "r++"),
    ("取消-036", "+++", "+++"),
];

/// Which runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Before the change.
    Baseline,
    /// After it.
    Candidate,
}

/// The runs of one side as native traces, a run a line.
pub(super) fn traces(side: Side) -> String {
    let mut lines = String::new();
    for (task, before, after) in TASKS {
        let letters = if side == Side::Baseline { before } else { after };
        for (trial, letter) in (1..).zip(letters.chars()) {
            lines.push_str(&run(task, trial, letter, side).to_string());
            lines.push('\n');
        }
    }
    lines
}

fn run(task: &str, trial: u32, letter: char, side: Side) -> Value {
    let mut steps = vec![step("plan", 1, 1, 400, None)];
    if letter == 'p' {
        steps = vec![step("plan", 1, 1, 450, Some("bad_plan")), step("plan", 1, 2, 430, None)];
    }
    match letter {
        't' => {
            for attempt in 1..=3 {
                steps.push(step("search_kb", 2, attempt, 10_000, Some("tool_timeout")));
            }
        }
        'r' => {
            steps.push(step("search_kb", 2, 1, 900, Some("rate_limit")));
            steps.push(step("search_kb", 2, 2, 800, None));
        }
        _ => steps.push(step("search_kb", 2, 1, 700, None)),
    }
    if letter != 't' {
        steps.push(step("lookup_order", 3, 1, 300, None));
        steps.push(step("send_reply", 4, 1, 500, None));
    }
    let solved = matches!(letter, '+' | 'r' | 'p');
    let name = if side == Side::Baseline { "base" } else { "cand" };
    json!({
        "run_id": format!("{name}-{task}-{trial}"),
        "task_id": task,
        "trial": trial,
        "agent": "support",
        "model": "demo",
        "success": solved,
        "steps": steps,
    })
}

fn step(name: &str, index: u32, attempt: u32, ms: u32, error: Option<&str>) -> Value {
    json!({
        "type": if name == "plan" { "planning" } else { "tool" },
        "name": name,
        "index": index,
        "attempt": attempt,
        "duration_ms": ms,
        "error": error.map(|kind| json!({ "type": kind })),
    })
}

#[cfg(test)]
mod tests {
    use super::{Side, TASKS, traces};

    #[test]
    fn every_task_has_three_runs_on_both_sides_and_known_letters() {
        for (task, before, after) in TASKS {
            assert_eq!((before.len(), after.len()), (3, 3), "{task}");
            let known = |letter| "+rwtp".contains(letter);
            assert!(before.chars().chain(after.chars()).all(known), "{task}");
        }
        assert_eq!(traces(Side::Candidate).lines().count(), 108);
    }
}

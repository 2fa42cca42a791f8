//! What records of coding agents share: exit codes at the edges of a text, shortened messages, the
//! task that a file is named by, and the error that ended a run.
//!
//! Refuses to judge: whether a text of that kind is an error is each format's own rule.

use std::borrow::Cow;
use std::path::Path;

use serde_json::value::RawValue;

use super::evidence::exit_code;
use crate::model::{Attempt, ErrorInfo};

/// Bytes of an error's message that are kept; the rest of a program's output says no more.
const MESSAGE: usize = 2000;

/// Bytes at each end of a text in which a harness writes the exit code of a command.
const EDGE: usize = 240;

/// The start of a text, as an error's message.
pub(super) fn message(text: &str) -> Cow<'static, str> {
    Cow::Owned(cut(text.trim(), MESSAGE).to_owned())
}

fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The exit code that stands at the end or at the start of a text: what a file or a program in
/// between says of exit codes is not the command's own.
pub(super) fn edge_exit_code(text: &str) -> Option<i64> {
    let text = text.trim();
    let from = text.len().saturating_sub(EDGE);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (cut(text, EDGE), text.get(from..).unwrap_or_default());
    let line = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        exit_code(first)
    };
    // The rest of a line whose start lies outside does not open with what it says.
    let whole = text.get(..from).is_none_or(|before| before.is_empty() || before.ends_with('\n'));
    let skipped = usize::from(!whole && !end.contains("` executed with exit code "));
    let last = end.lines().skip(skipped).collect::<Vec<_>>();
    let last = last.into_iter().rev().take(3).find_map(exit_code);
    last.or_else(|| line(start))
}

/// The task that the name of a `.traj` or `.traj.json` file says.
pub(super) fn task_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".traj.json").or_else(|| name.strip_suffix(".traj"))?;
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// Whether a submission holds nothing: it is missing, null or an empty text.
pub(super) fn delivers_nothing(submission: Option<&RawValue>) -> bool {
    submission.is_none_or(|patch| matches!(patch.get().trim(), "" | "null" | "\"\""))
}

/// The error that ended a run from outside, as its last, failed step.
pub(super) fn ended_by(kind: Option<Cow<'static, str>>, text: &str) -> Attempt<'static> {
    Attempt {
        kind: Cow::Borrowed("runtime"),
        error: Some(ErrorInfo { kind, message: Some(message(text)), ..ErrorInfo::default() }),
        raw: Some(Cow::Borrowed("{}")),
        ..Attempt::default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{edge_exit_code, message, task_of};

    #[test]
    fn an_exit_code_counts_at_the_edges_of_a_text_alone() {
        let far = format!("a\n{}exit code 1\n{}b", "x\n".repeat(200), "y\n".repeat(200));
        assert_eq!(edge_exit_code(&far), None);
        let cut = format!("{} exit code 1{}", "x".repeat(100), ".".repeat(228));
        assert_eq!(edge_exit_code(&cut), None, "the end of a long line");
        assert_eq!(edge_exit_code("x\n[Command finished with exit code 2]"), Some(2));
        assert_eq!(edge_exit_code("<returncode>0</returncode>\n<output>\n</output>"), Some(0));
        assert_eq!(edge_exit_code(""), None);
        assert_eq!(edge_exit_code("ä"), None);
    }

    #[test]
    fn messages_are_cut_between_characters_and_tasks_are_told_by_names() {
        assert_eq!(message(&"ä".repeat(3000)).len(), 2000);
        assert_eq!(task_of(Path::new("a/x__y-1.traj.json")).as_deref(), Some("x__y-1"));
        assert_eq!(task_of(Path::new("trajectory.json")), None);
    }
}

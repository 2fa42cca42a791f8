//! From a failure to the bytes of its file: a key a line, a list's element a line, so that a merge
//! conflict shows lines that people can read. What two branches are likely to change both (times and
//! counts, tasks, runs, the excerpt) has four lines or more between that seldom change: git makes one
//! conflict of those that are nearer.

use serde::Serialize;

use super::excerpt::{Excerpt, ExcerptStep};
use super::failure::KnownFailure;
use super::{SCHEMA, Seen};

impl KnownFailure {
    /// The file; it ends with a line break. The same failure gives the same bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::from("{\n");
        let (signature, seen) = (&self.signature, &self.seen);
        entry(&mut out, "schema", SCHEMA);
        entry(&mut out, "id", &signature.id());
        entry(&mut out, "type", &signature.kind);
        optional(&mut out, "tool", signature.tool.as_deref());
        entry(&mut out, "where", &signature.place);
        entry(&mut out, "template", &signature.template);
        optional(&mut out, "first_seen", seen.first_seen().as_deref());
        optional(&mut out, "last_seen", seen.last_seen().as_deref());
        number(&mut out, "runs", seen.runs.count());
        number(&mut out, "attempts", seen.attempts());
        entry(&mut out, "status", self.status.name());
        optional(&mut out, "until", self.status.until().map(ToString::to_string).as_deref());
        list(&mut out, "notes", self.notes.iter().map(json).collect());
        let corrected = self.corrected_output.as_deref().unwrap_or("null");
        out.push_str(&format!("  \"corrected_output\": {corrected},\n"));
        if let Some(task) = &self.corrected_task {
            entry(&mut out, "corrected_task", task);
        }
        let tasks = seen.task_names();
        list(&mut out, "tasks", tasks.iter().map(|task| json(*task)).collect());
        number(&mut out, "tasks_beyond", seen.tasks.beyond());
        number(&mut out, "runs_beyond", seen.runs.beyond());
        list(&mut out, "runs_seen", runs(seen));
        excerpt(&mut out, seen.excerpt.as_ref());
        out.push_str("}\n");
        out.into_bytes()
    }
}

fn runs(seen: &Seen) -> Vec<String> {
    let mut runs: Vec<_> = seen.runs.kept().collect();
    runs.sort_by(|(a, x), (b, y)| x.label.cmp(&y.label).then(a.cmp(b)));
    let line = |(key, run): (&str, &super::SeenRun)| {
        format!(
            "{{\"run\": {}, \"attempts\": {}, \"key\": {}}}",
            json(&run.label),
            run.attempts,
            json(key)
        )
    };
    runs.into_iter().map(line).collect()
}

fn excerpt(out: &mut String, excerpt: Option<&Excerpt>) {
    let Some(excerpt) = excerpt else {
        out.push_str("  \"excerpt\": null\n");
        return;
    };
    out.push_str("  \"excerpt\": {\n");
    let mut put = |key: &str, value: String| out.push_str(&format!("    \"{key}\": {value},\n"));
    put("outcome", json(&excerpt.outcome));
    put("end_reason", json(&excerpt.end_reason));
    put("run", json(&excerpt.run));
    put("key", json(&excerpt.key));
    put("task", json(&excerpt.task));
    let lines: Vec<String> =
        excerpt.steps.iter().map(|step| format!("\n      {}", line(step))).collect();
    let end = if lines.is_empty() { "" } else { "\n    " };
    out.push_str(&format!("    \"steps\": [{}{end}]\n  }}\n", lines.join(",")));
}

/// One attempt on one line; what is not known is left out.
fn line(step: &ExcerptStep) -> String {
    let texts = [
        ("type", Some(&step.kind)),
        ("name", step.name.as_ref()),
        ("verdict", Some(&step.verdict)),
        ("error", step.error.as_ref()),
        ("message", step.message.as_ref()),
        ("input", step.input.as_ref()),
        ("output", step.output.as_ref()),
    ];
    let texts: String = texts
        .iter()
        .filter_map(|(key, text)| Some(format!(", \"{key}\": {}", json(text.as_ref()?))))
        .collect();
    format!("{{\"step\": {}, \"attempt\": {}{texts}}}", step.step, step.attempt)
}

fn entry(out: &mut String, key: &str, text: &str) {
    out.push_str(&format!("  \"{key}\": {},\n", json(text)));
}

fn optional(out: &mut String, key: &str, text: Option<&str>) {
    out.push_str(&format!("  \"{key}\": {},\n", json(&text)));
}

fn number(out: &mut String, key: &str, number: u64) {
    out.push_str(&format!("  \"{key}\": {number},\n"));
}

fn list(out: &mut String, key: &str, lines: Vec<String>) {
    let lines: Vec<String> = lines.iter().map(|line| format!("\n    {line}")).collect();
    let end = if lines.is_empty() { "" } else { "\n  " };
    out.push_str(&format!("  \"{key}\": [{}{end}],\n", lines.join(",")));
}

/// Compact JSON; texts cannot fail to be.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

//! Files beside trajectories that say more of them: outcomes of an evaluation, exit statuses of restarts.
//!
//! Owns the list of such files, their shapes (told by content, like formats), and what each says of
//! which run. Refuses to join: which run is meant, and what holds if two files differ, is decided in
//! `ingest/joins`.

mod openhands;
mod swe_bench;

use std::path::Path;

use super::super::scan::FirstObject;
use crate::model::Trajectory;

/// Largest such file that is read, in bytes after decompression.
pub const SIDECAR_LIMIT: usize = 256 << 20;

/// Bytes of a file whose values detection looks at; of its first object it knows all keys that were read.
const LOOKED_AT: usize = 1 << 20;

/// Formats whose outcomes, or parts of them, stand in files beside the trajectories.
const JOINING: [&str; 4] = ["swe-agent", "mini-swe-agent", "openhands", "atif"];

/// Every known kind, in the order in which detection asks them.
pub static SIDECARS: &[Sidecar] = &[
    swe_bench::REPORT,
    swe_bench::RESULTS,
    openhands::EVALUATED,
    swe_bench::BY_INSTANCE,
    swe_bench::TABLE,
    swe_bench::EXIT_STATUSES,
    super::harbor::JOB,
];

/// Whether runs of this format are completed from files beside them.
#[must_use]
pub fn joins(format: &str) -> bool {
    JOINING.contains(&format)
}

/// The task that a record of a format of whole runs says itself, as its reader takes it.
pub(in super::super) fn task_said(format: &str, record: &[u8]) -> Option<String> {
    (format == super::mini_swe_agent::MINI_SWE_AGENT.name)
        .then(|| super::mini_swe_agent::task_said(record))
        .flatten()
}

/// The task that the name of a trajectory's file says.
pub(in super::super) fn task_named(path: &Path) -> Option<String> {
    super::coding::task_of(path)
}

/// One kind of file beside trajectories.
#[derive(Clone, Copy)]
pub struct Sidecar {
    /// Its name, in messages.
    pub name: &'static str,
    /// What such a file holds; a noun phrase.
    pub about: &'static str,
    /// What may be done where such a file is given alone.
    pub alone: &'static str,
    /// Whether the start of a file looks like it.
    pub detect: fn(&Look<'_>) -> bool,
    /// Reads a whole file.
    pub read: fn(&[u8], &Path) -> Said,
}

/// What a file says.
#[derive(Debug, Default)]
pub struct Said {
    /// What it says of single runs.
    pub heads: Vec<Head>,
    /// Exit statuses by instance, of one start of a batch.
    pub statuses: Vec<(String, String)>,
    /// Entries or lines that could not be read, each with the reason.
    pub broken: Vec<String>,
    /// What else is worth telling, as a lowercase fragment.
    pub more: Option<String>,
}

/// What a file says of one run.
#[derive(Debug, Default, Clone)]
pub struct Head {
    /// The task that it speaks of.
    pub task: Option<String>,
    /// The runs that it speaks of by their place.
    pub place: Whose,
    /// What it adds to the run: only fields that it knows are set.
    pub adds: Trajectory<'static>,
    /// The same for the run's `final`: key and JSON text.
    pub delivers: Vec<(&'static str, String)>,
}

/// The runs that a file means by where it stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Place alone says nothing.
    #[default]
    Anyones,
    /// The one trajectory in its own folder.
    InFolder,
    /// The trajectory in `agent/` below its folder, also in `steps/NAME/agent/`.
    BelowFolder,
}

impl Head {
    /// What it says of success, in a form that can be compared.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict<'_>> {
        let said = self.adds.success.is_some() || !self.adds.scores.is_empty();
        said.then_some((self.adds.success, self.adds.scores.as_slice()))
    }
}

/// Success flag and scores.
pub type Verdict<'h> = (Option<bool>, &'h [crate::model::Score<'static>]);

/// The start of a file, as detection sees it.
pub struct Look<'l> {
    /// The first bytes, without space before them.
    pub head: &'l [u8],
    /// The keys of its first object.
    pub keys: Vec<String>,
}

impl<'l> Look<'l> {
    fn of(head: &'l [u8], first: Option<&FirstObject>) -> Self {
        let head = head.trim_ascii_start();
        let head = head.get(..LOOKED_AT).unwrap_or(head);
        Self { head, keys: first.map(|first| first.keys.clone()).unwrap_or_default() }
    }

    /// Whether the first object has all of these keys.
    #[must_use]
    pub fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.iter().any(|have| have == key))
    }

    /// Whether it has any of these keys.
    #[must_use]
    pub fn any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(&[key]))
    }

    /// The value of the first key, as far as it was read.
    #[must_use]
    pub fn first_value(&self) -> Option<&'l [u8]> {
        let key = self.keys.first()?;
        // The key is as written, so what stands behind its quote is known.
        let at = memchr::memmem::find(self.head, key.as_bytes())? + key.len();
        let rest = self.head.get(at..)?.strip_prefix(b"\"")?.trim_ascii_start();
        Some(rest.strip_prefix(b":")?.trim_ascii_start())
    }
}

/// Words of which every such file has one: without them a file is not looked into.
const WORDS: [&[u8]; 4] =
    [b"resolved", b"instances_by_exit_status", b"n_total_trials", b"\"report\""];

/// Tells which kind a file is from its start, and the object that it begins with; `None` for every
/// other file.
#[must_use]
pub fn detect(head: &[u8], first: Option<&FirstObject>) -> Option<&'static Sidecar> {
    // Where steps are, is a trace.
    if first.is_some_and(|object| object.keys.iter().any(|key| key == "steps")) {
        return None;
    }
    let start = head.get(..LOOKED_AT).unwrap_or(head);
    if WORDS.iter().all(|word| memchr::memmem::find(start, word).is_none()) {
        return None;
    }
    let look = Look::of(head, first);
    SIDECARS.iter().find(|sidecar| (sidecar.detect)(&look))
}

#[cfg(test)]
mod tests {
    use super::Sidecar;
    use crate::ingest::scan::first_object;

    fn detect(head: &[u8]) -> Option<&'static Sidecar> {
        super::detect(head, first_object(head).as_ref())
    }

    #[test]
    fn each_kind_is_told_by_its_content() {
        let kinds = [
            (r#"{"patch_exists": true, "resolved": false, "tests_status": {}}"#, "report"),
            (r#"{"a__b-1": {"patch_exists": true, "resolved": false}}"#, "by-instance"),
            (r#"{"a__b-1": {"cost": 0.1, "resolved": false}}"#, "by-instance"),
            (r#"{"total_instances": 2, "resolved_ids": [], "unresolved_ids": []}"#, "results"),
            (r#"{"resolved": ["a"], "submitted_instances": 2}"#, "results"),
            ("instance_id,resolved,patch_applied\na,True,True\n", "table"),
            ("instances_by_exit_status:\n  Submitted:\n  - a\n", "exit-statuses"),
            (r#"{"instance_id":"a","test_result":{"report":{"resolved":true}}}"#, "evaluated"),
        ];
        for (text, name) in kinds {
            assert_eq!(detect(text.as_bytes()).map(|found| found.name), Some(name), "{text}");
        }
    }

    #[test]
    fn results_of_other_benchmarks_and_traces_are_none() {
        let others = [
            r#"{"results": [], "accuracy": 0.5, "resolved_ids": [], "unresolved_ids": []}"#,
            r#"{"instance_id":"a","test_result":{"report":{"resolved":true}},"history":[]}"#,
            r#"{"run_id": "a", "resolved": true, "steps": []}"#,
            r#"{"info": {"resolved": true}, "messages": [{"role": "user", "content": "u"}]}"#,
            r#"{"meta": {"resolved": true}, "result": {"passed": true}}"#,
            r#"{"a": {"resolved": true}, "b": 3}"#,
            r#"{"resolved": true, "patch_exists": true, "messages": []}"#,
            "task_id,resolved,model\na,1,m\n",
            "",
        ];
        for text in others {
            assert_eq!(detect(text.as_bytes()).map(|found| found.name), None, "{text}");
        }
    }
}

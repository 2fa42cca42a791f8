//! Checkpoint folders: `<run>/<node_id>.json` with `{"node_id", "status", "attempts", ...}`.
//!
//! Owns: a folder as one run; its nodes as steps of which only the number of attempts is known;
//! their order (plan, else `created_at`, else unknown); and the outcome that the nodes give.
//! Where the files of one folder name several workflows by `workflow_id`, each is a run.
//!
//! Refuses: to read order from file names, or failure from a kept `error`: the status decides.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::kept::{self, is_refusal, object, stamp, text};
use super::native::fields::{AnyTokens, ErrorField, Scalar};
use super::{Assembler, Fate, Format, Parsed, Probe, Reader, Record, Refusal, whole};
use crate::config::{Plan, ReadOptions};
use crate::ingest::quick;
use crate::model::{
    Attempt, AttemptWord, EndRule, Final, Issue, Place, Stamp, Time, Trajectory, input_hash,
};

/// Checkpoint folders.
pub const CHECKPOINTS: Format = Format {
    name: "checkpoints",
    about: "a folder of checkpoints, one JSON file a node",
    detect,
    wrappers: &[],
    splits_arrays: true,
    reader: Reader::Parts(|options| Box::new(Checkpoints::new(options))),
    archive: None,
    misspelt: None,
};

/// A node with a status and something that a runner keeps of it; a log line has an `event`.
fn detect(probe: &Probe<'_>) -> bool {
    probe.keys().iter().any(|keys| {
        let has = |key: &str| keys.iter().any(|have| have == key);
        has("node_id")
            && has("status")
            && ["attempts", "checkpoint", "result", "error"].into_iter().any(has)
            && !["event", "level", "levelname", "message", "msg"].into_iter().any(has)
    })
}

/// A checkpoint as typed.
#[derive(Deserialize)]
struct Node<'a> {
    #[serde(borrow, default)]
    node_id: Scalar<'a>,
    #[serde(borrow, default)]
    status: Scalar<'a>,
    #[serde(borrow, default)]
    attempts: Scalar<'a>,
    #[serde(borrow, default)]
    error: ErrorField<'a>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow, default)]
    node_type: Scalar<'a>,
    #[serde(borrow, default)]
    name: Scalar<'a>,
    #[serde(borrow, default)]
    workflow_id: Scalar<'a>,
    #[serde(borrow, default)]
    task_id: Scalar<'a>,
    #[serde(borrow, default)]
    trial: Scalar<'a>,
    #[serde(borrow, default)]
    agent: Scalar<'a>,
    #[serde(borrow, default)]
    model: Scalar<'a>,
    #[serde(borrow, default)]
    created_at: Scalar<'a>,
    #[serde(borrow, default)]
    updated_at: Scalar<'a>,
    #[serde(borrow, default)]
    started_at: Scalar<'a>,
    #[serde(borrow, default)]
    ended_at: Scalar<'a>,
    #[serde(borrow, default)]
    completed_at: Scalar<'a>,
    #[serde(borrow, default)]
    duration_ms: Scalar<'a>,
    #[serde(default)]
    tokens: AnyTokens,
    #[serde(borrow, default)]
    cost_usd: Scalar<'a>,
}

/// A node of a run, kept until all files are read.
struct Kept {
    attempt: Attempt<'static>,
    place: Place,
    created_at: Option<Time>,
    updated_at: Option<Time>,
    result: Option<String>,
}

impl Kept {
    /// Reads an error and a result that are JSON inside of a text, as exports of tables have them.
    fn unwrap_texts(&mut self) {
        let inner = |text: &str| {
            let sound = quick::from_str::<serde::de::IgnoredAny>(text).is_ok();
            sound.then(|| text.trim().to_owned())
        };
        let message = self.attempt.error.as_ref().filter(|error| error.kind.is_none());
        if let Some(json) = message.and_then(|error| inner(error.message.as_deref()?))
            && let Ok(error) = quick::from_str::<ErrorField<'_>>(&json)
        {
            self.attempt.error = error.0.map(kept::error);
        }
        let result = self.result.as_deref();
        let text = result.and_then(|result| serde_json::from_str::<String>(result).ok());
        if let Some(json) = text.and_then(|text| inner(&text)) {
            self.result = Some(json).filter(|json| json != "null");
        }
    }
}

/// A run while its files come in.
struct Run {
    folder: String,
    workflow_id: Option<String>,
    context: Trajectory<'static>,
    nodes: HashMap<String, Kept>,
}

pub(super) struct Checkpoints {
    options: ReadOptions,
    /// Whether the records are rows of the table `agent_task`: the workflow is the run, wherever
    /// its rows stand, and a text may hold the JSON of its column.
    rows: bool,
    runs: Vec<Run>,
    by_key: HashMap<(String, Option<String>), usize>,
    /// Files whose name is not that of their node, and the first of them.
    misnamed: u64,
    first_misnamed: Option<(Place, String)>,
}

impl Checkpoints {
    fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            rows: false,
            runs: Vec::new(),
            by_key: HashMap::new(),
            misnamed: 0,
            first_misnamed: None,
        }
    }

    /// The same for rows of the table `agent_task`.
    pub(super) fn of_rows(options: &ReadOptions) -> Self {
        Self { rows: true, ..Self::new(options) }
    }

    /// What the record's run is known by: folder and workflow, or the workflow alone.
    fn key(
        &self,
        record: &Record<'_>,
        node: &Node<'_>,
    ) -> Result<(String, Option<String>), Refusal> {
        let workflow_id = text(&node.workflow_id).map(Cow::into_owned);
        if self.rows {
            return match workflow_id {
                Some(id) => Ok((String::new(), Some(id))),
                None => {
                    let message = "the row names no workflow, give it a `workflow_id`";
                    Err(Refusal::of("row_without_workflow", message))
                }
            };
        }
        let folder = record.path.parent().unwrap_or(Path::new(""));
        Ok((folder.to_string_lossy().into_owned(), workflow_id))
    }

    fn note_name(&mut self, record: &Record<'_>, id: &str) {
        let stem = record.path.file_stem().map(|stem| stem.to_string_lossy());
        let is_json = record.path.extension().is_some_and(|ending| ending == "json");
        if let Some(stem) = stem.filter(|stem| is_json && stem != id) {
            self.misnamed += 1;
            let message = || format!("file `{stem}.json` holds node `{id}`, which is used");
            self.first_misnamed.get_or_insert_with(|| (record.place, message()));
        }
    }
}

impl Checkpoints {
    /// Takes a node; `exact` says that its text is as the file has it.
    fn take(&mut self, record: &Record<'_>, exact: bool) -> Fate {
        if record.bytes.trim_ascii_start().first() != Some(&b'{') {
            // An array would pass for a struct, field by field.
            return match quick::from_slice::<serde::de::IgnoredAny>(record.bytes) {
                Ok(_) => Fate::Refused(not_a_checkpoint()),
                Err(error) => Fate::Refused(error.into()),
            };
        }
        let node: Node<'_> = match quick::from_slice(record.bytes) {
            Ok(node) => node,
            Err(error) => return Fate::Refused(error.into()),
        };
        let (Some(id), Some(status)) = (text(&node.node_id), text(&node.status)) else {
            return Fate::Refused(not_a_checkpoint());
        };
        let attempts = match whole(&node.attempts, "attempts") {
            Ok(attempts) => attempts,
            Err(refusal) => return Fate::Refused(refusal),
        };
        let key = match self.key(record, &node) {
            Ok(key) => key,
            Err(refusal) => return Fate::Refused(refusal),
        };
        if !self.rows {
            self.note_name(record, &id);
        }
        let at = *self.by_key.entry(key).or_insert_with_key(|key| {
            let context = Trajectory { place: record.place, ..Trajectory::default() };
            let (folder, workflow_id) = key.clone();
            self.runs.push(Run { folder, workflow_id, context, nodes: HashMap::new() });
            self.runs.len() - 1
        });
        let Some(run) = self.runs.get_mut(at) else { return Fate::Refused(not_a_checkpoint()) };
        let context = &mut run.context;
        context.place = context.place.min(record.place);
        for (slot, value) in [
            (&mut context.task_id, &node.task_id),
            (&mut context.trial, &node.trial),
            (&mut context.agent, &node.agent),
            (&mut context.model, &node.model),
        ] {
            if slot.is_none() {
                *slot = text(value);
            }
        }
        let raw = self
            .options
            .raw_attempts
            .then(|| String::from_utf8_lossy(record.bytes).into_owned().into());
        let mut kept = keep(node, attempts, &id, status, record.place, &self.options, raw);
        if self.rows {
            kept.unwrap_texts();
        }
        kept.attempt.bytes = (exact && self.options.raw_attempts).then(|| record.span());
        match run.nodes.get_mut(id.as_ref()) {
            None => {
                run.nodes.insert(id.into_owned(), kept);
                Fate::Used
            }
            Some(older) => {
                let by = |kept: &Kept| (kept.updated_at, kept.attempt.attempts_total);
                if by(&kept) > by(older) {
                    *older = kept;
                }
                Fate::Merged("latest_checkpoint_of_node")
            }
        }
    }
}

impl Assembler for Checkpoints {
    fn push(&mut self, record: &Record<'_>) -> Fate {
        self.take(record, true)
    }

    fn push_repaired(&mut self, record: &Record<'_>) -> Fate {
        self.take(record, false)
    }

    fn finish(self: Box<Self>) -> Parsed<'static> {
        let Self { options, rows, mut runs, misnamed, first_misnamed, .. } = *self;
        runs.sort_by_key(|run| run.context.place);
        let ids = match rows {
            true => runs.iter().map(|run| run.workflow_id.clone()).collect(),
            false => run_ids(&runs),
        };
        let mut parsed = Parsed::default();
        if let Some((place, message)) = first_misnamed {
            let note = Issue::note("node_id_is_not_the_file_name", place, message);
            parsed.issues.push(note.times(misnamed));
        }
        for (run, id) in runs.into_iter().zip(ids) {
            parsed.runs.push(join(run, id, options.plan.as_deref(), &mut parsed.issues));
        }
        parsed
    }
}

fn not_a_checkpoint() -> Refusal {
    Refusal::of("not_a_checkpoint", "a checkpoint is an object with a `node_id` and a `status`")
}

/// The node as the last of its attempts.
fn keep(
    node: Node<'_>,
    attempts: Option<u32>,
    id: &str,
    status: Cow<'static, str>,
    place: Place,
    options: &ReadOptions,
    raw: Option<Cow<'static, str>>,
) -> Kept {
    let word = AttemptWord::read(&status);
    let attempts_total = attempts.map(|count| {
        if options.attempts_count_tries || word == AttemptWord::Failed {
            count.max(1)
        } else {
            count.saturating_add(1)
        }
    });
    let has_ended = word != AttemptWord::Neither || is_refusal(&status);
    let updated_at = stamp(&node.updated_at);
    let time = |stamp: Option<Stamp<'_>>| stamp.and_then(|stamp| stamp.time());
    let attempt = Attempt {
        node_id: Some(id.to_owned().into()),
        attempts_total,
        kind: text(&node.kind).or_else(|| text(&node.node_type)).unwrap_or("node".into()),
        name: text(&node.name).or_else(|| Some(id.to_owned().into())),
        status: Some(status),
        input: node.input.and_then(|input| input_hash(input.get())),
        error: node.error.0.map(kept::error),
        status_decides: true,
        started_at: stamp(&node.started_at).or_else(|| stamp(&node.created_at)),
        ended_at: stamp(&node.ended_at)
            .or_else(|| stamp(&node.completed_at))
            .or(updated_at.clone().filter(|_| has_ended)),
        duration_ms: node.duration_ms.number(),
        tokens: node.tokens.0,
        cost_usd: node.cost_usd.number(),
        raw,
        ..Attempt::default()
    };
    Kept {
        attempt,
        place,
        created_at: time(stamp(&node.created_at)),
        updated_at: time(updated_at),
        result: node.result.map(|result| result.get().to_owned()),
    }
}

/// Ids that are unique: the folder's name, with as many of the folders above as tell it from
/// the others; the workflow id where a folder holds several workflows.
fn run_ids(runs: &[Run]) -> Vec<Option<String>> {
    let mut in_folder: HashMap<&str, usize> = HashMap::new();
    for run in runs {
        *in_folder.entry(&run.folder).or_default() += 1;
    }
    let paths: Vec<String> = runs
        .iter()
        .map(|run| {
            let shared = in_folder.get(run.folder.as_str()).is_some_and(|&count| count > 1);
            let workflow_id =
                run.workflow_id.as_deref().filter(|_| shared || run.folder.is_empty());
            match workflow_id {
                Some(id) => format!("{}/{}", run.folder, id.replace('/', "_")),
                None => run.folder.clone(),
            }
        })
        .map(|path| path.replace('\\', "/"))
        .collect();
    let parts: Vec<Vec<&str>> = paths
        .iter()
        .map(|path| path.split('/').filter(|part| !part.is_empty() && *part != ".").collect())
        .collect();
    let tail = |parts: &[&str], depth: usize| parts[parts.len().saturating_sub(depth)..].join("/");
    let mut ids: Vec<String> = parts.iter().map(|parts| tail(parts, 1)).collect();
    let deepest = parts.iter().map(Vec::len).max().unwrap_or(0);
    for depth in 2..=deepest {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for id in &ids {
            *seen.entry(id.clone()).or_default() += 1;
        }
        if seen.len() == ids.len() {
            break;
        }
        for (id, parts) in ids.iter_mut().zip(&parts) {
            if seen.get(id.as_str()).is_some_and(|&count| count > 1) {
                *id = tail(parts, depth);
            }
        }
    }
    ids.into_iter().map(|id| (!id.is_empty()).then_some(id)).collect()
}

/// One run of its nodes.
fn join(
    run: Run,
    id: Option<String>,
    plan: Option<&Plan>,
    issues: &mut Vec<Issue>,
) -> Trajectory<'static> {
    let Run { workflow_id, context: mut trajectory, nodes, .. } = run;
    if trajectory.task_id.is_none() {
        let workflow = workflow_id.filter(|workflow| id.as_ref() != Some(workflow));
        let workflow = workflow.or_else(|| plan.and_then(|plan| plan.workflow.clone()));
        trajectory.task_id = workflow.map(Into::into);
    }
    trajectory.run_id = id.map(Into::into);
    let planned = plan.map(Plan::order).unwrap_or_default();
    let positions: HashMap<&str, usize> =
        planned.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut nodes: Vec<(String, Kept)> = nodes.into_iter().collect();
    nodes.sort_by(|(a_id, a), (b_id, b)| {
        let position = |id: &str| positions.get(id).copied().unwrap_or(usize::MAX);
        (position(a_id), a.created_at, a.place, a_id).cmp(&(
            position(b_id),
            b.created_at,
            b.place,
            b_id,
        ))
    });
    let unplanned = nodes.iter().filter(|(id, _)| !positions.contains_key(id.as_str())).count();
    if plan.is_some() && unplanned > 0 {
        let message = "a node is not in the plan: it stands after the planned ones";
        let note = Issue::note("node_not_in_plan", trajectory.place, message);
        issues.push(note.times(unplanned as u64));
    }
    let first_unplanned = nodes.len() - unplanned;
    let times: Vec<_> =
        nodes.iter().skip(first_unplanned).map(|(_, node)| node.created_at).collect();
    // Nodes that were all created at one instant were laid out before the run began.
    let by_time = times.iter().all(Option::is_some)
        && times.iter().flatten().all(|time| Some(time.zoned) == times[0].map(|t| t.zoned))
        && times.first() != times.last();
    trajectory.order_unknown = unplanned > 1 && !by_time;
    let present: HashMap<&str, &Kept> =
        nodes.iter().map(|(id, node)| (id.as_str(), node)).collect();
    trajectory.never_reached = planned
        .iter()
        .filter(|id| !present.contains_key(**id))
        .map(|id| (*id).to_owned().into())
        .collect();
    outcome(&mut trajectory, nodes.iter().map(|(_, node)| &node.attempt));
    let mut results = BTreeMap::new();
    for (position, (id, node)) in (1_u32..).zip(nodes) {
        let mut attempt = node.attempt;
        // The place of the run tells of one file; nodes in others have none to be found at.
        attempt.bytes = attempt.bytes.filter(|_| node.place.file == trajectory.place.file);
        if !trajectory.order_unknown {
            attempt.index = Some(f64::from(position));
        }
        trajectory.attempts.push(attempt);
        if let Some(result) = node.result {
            results.insert(id, result);
        }
    }
    if !results.is_empty() {
        trajectory.final_output = Final::Json(object(&results).into());
    }
    trajectory
}

/// Failed if one node failed; cancelled if one was; unfinished if one is open or was never
/// reached; else completed. A skipped node stands in no one's way.
fn outcome<'n>(trajectory: &mut Trajectory<'_>, nodes: impl Iterator<Item = &'n Attempt<'static>>) {
    let (mut failed, mut cancelled) = (false, false);
    let mut open = !trajectory.never_reached.is_empty();
    for node in nodes {
        let status = node.status.as_deref().unwrap_or_default();
        match AttemptWord::read(status) {
            AttemptWord::Failed => failed = true,
            AttemptWord::Neither if is_refusal(status) => cancelled = true,
            AttemptWord::Neither => open |= !status.trim().eq_ignore_ascii_case("skipped"),
            AttemptWord::Passed | AttemptWord::Unknown => {}
        }
    }
    if failed {
        trajectory.format_outcome = Some(false);
    } else if cancelled {
        trajectory.end_rule = Some(EndRule::Cancelled);
    } else if open {
        trajectory.end_rule = Some(EndRule::Unfinished);
    } else {
        trajectory.format_outcome = Some(true);
    }
}

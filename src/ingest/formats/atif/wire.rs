//! What one ATIF document says: its head, and its steps as they happened.
//!
//! Owns the fields of all versions, which steps are copies, and subagents inside a document.

use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::super::raw::{amount, is_true, label, raw_fields, read as value};
use super::super::{Record, Refusal};
use super::own;
use super::step::{Step, WireStep, add_step};
use crate::ingest::assemble::tally::Tally;
use crate::ingest::quick;
use crate::model::{Final, Place, Severity, Tokens, Trajectory};

raw_fields! {
    /// A document.
    Wire {
        session_id, trajectory_id, agent, steps, final_metrics, continued_trajectory_ref,
        subagent_trajectories, extra,
    }
}
raw_fields! {
    /// Who ran.
    Agent { name, version, model_name, extra }
}
raw_fields! {
    /// What some writers say of an agent.
    AgentExtra { parent_session_id }
}
raw_fields! {
    /// Sums.
    Sums { total_prompt_tokens, total_completion_tokens, total_cached_tokens, total_cost_usd }
}

/// One document without a borrow.
#[derive(Default)]
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) place: Place,
    pub(super) session: Option<String>,
    pub(super) trajectory: Option<String>,
    pub(super) continued: Option<String>,
    pub(super) steps: Vec<Happened>,
    /// Subagents inside the document, by id.
    pub(super) embedded: Vec<(Vec<String>, Document)>,
    pub(super) total: Option<Tokens>,
    pub(super) cost: Option<f64>,
    /// The run that this document was made of, where it says so.
    pub(super) own: Option<Trajectory<'static>>,
    /// Name, version and model of the agent, and the session of its parent.
    pub(super) agent: [Option<String>; 4],
}

/// One thing that happened.
pub(super) enum Happened {
    /// A step of the agent.
    Step(Box<Step>),
    /// Subagents ran.
    Subagents(Vec<Reference>),
}

impl Happened {
    pub(super) fn subagents(&self) -> &[Reference] {
        match self {
            Self::Step(_) => &[],
            Self::Subagents(references) => references,
        }
    }
}

/// A subagent's document, as it is referred to.
pub(super) struct Reference {
    pub(super) trajectory: Option<String>,
    pub(super) session: Option<String>,
    pub(super) path: Option<String>,
}

impl Document {
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    fn ids(&self) -> Vec<String> {
        [&self.trajectory, &self.session].into_iter().flatten().cloned().collect()
    }

    /// The run of which this is the first document.
    pub(super) fn head(&self) -> Trajectory<'static> {
        let [name, version, model, parent] = self.agent.clone();
        let mut tags = Vec::new();
        for (key, found) in [
            ("session", self.session.clone()),
            ("agent_version", version),
            ("parent_session", parent),
        ] {
            tags.extend(found.map(|found| (key.into(), found.into())));
        }
        Trajectory {
            place: self.place,
            run_id: self.trajectory.clone().map(Into::into),
            agent: name.map(Into::into),
            model: model.map(Into::into),
            tags,
            final_output: Final::Missing,
            ..Trajectory::default()
        }
    }
}

/// A simple value as text.
pub(super) fn owned(raw: Option<&RawValue>) -> Option<String> {
    raw.and_then(label).map(|text| text.into_owned())
}

/// Reads one record.
pub(super) fn read(record: &Record<'_>, tally: &mut Tally) -> Result<Vec<Document>, Refusal> {
    let wire: Wire<'_> = quick::from_slice(record.bytes)?;
    document(&wire, record, tally, 0).map(|document| vec![document])
}

/// How deep documents inside documents are read.
const DEEPEST: usize = 32;

fn document(
    wire: &Wire<'_>,
    record: &Record<'_>,
    tally: &mut Tally,
    depth: usize,
) -> Result<Document, Refusal> {
    let raw = wire.steps.ok_or_else(|| Refusal::of("not_a_run", "the record has no `steps`"))?;
    let steps: Vec<WireStep<'_>> = quick::from_str(raw.get())
        .map_err(|error| Refusal::of("unreadable_steps", format!("steps: {error}")))?;
    let agent = wire.agent.and_then(value::<Agent<'_>>).unwrap_or_default();
    let extra = agent.extra.and_then(value::<AgentExtra<'_>>).unwrap_or_default();
    let sums = wire.final_metrics.and_then(value::<Sums<'_>>).unwrap_or_default();
    let mut document = Document {
        path: record.path.to_owned(),
        place: record.place,
        session: owned(wire.session_id),
        trajectory: owned(wire.trajectory_id),
        continued: owned(wire.continued_trajectory_ref),
        total: tokens([
            sums.total_prompt_tokens,
            sums.total_completion_tokens,
            sums.total_cached_tokens,
        ]),
        own: own::head(wire.extra),
        cost: amount(sums.total_cost_usd).filter(|cost| *cost > 0.0),
        agent: [
            owned(agent.name),
            owned(agent.version),
            owned(agent.model_name),
            owned(extra.parent_session_id),
        ],
        ..Document::default()
    };
    let mut copied = 0;
    for step in &steps {
        if is_true(step.is_copied_context) {
            copied += 1;
            continue;
        }
        add_step(step, document.own.is_some(), &mut document.steps);
    }
    let rule = "steps that were copied as context are not counted again";
    tally.add("copied_context", Severity::Note, record.place, rule, copied);
    let inside = wire.subagent_trajectories.and_then(value::<Vec<Wire<'_>>>).unwrap_or_default();
    for wire in &inside {
        if depth >= DEEPEST {
            let rule = "subagents that lie too deep inside each other are not read";
            tally.count("subagents_too_deep", Severity::Warning, record.place, rule);
            continue;
        }
        match self::document(wire, record, tally, depth + 1) {
            Ok(found) => document.embedded.push((found.ids(), found)),
            Err(_) => {
                let rule = "subagents whose trajectories cannot be read";
                tally.count("unreadable_subagent", Severity::Warning, record.place, rule);
            }
        }
    }
    Ok(document)
}

/// Tokens out of prompt (what a cache served among them), completion and cached.
pub(super) fn tokens([prompt, completion, cached]: [Option<&RawValue>; 3]) -> Option<Tokens> {
    let prompt = amount(prompt).unwrap_or(0.0);
    let completion = amount(completion).unwrap_or(0.0);
    let cached = amount(cached).unwrap_or(0.0).min(prompt);
    // Writers that withhold counts write 0.
    (prompt + completion > 0.0).then(|| Tokens {
        input: prompt - cached,
        cache_read: cached,
        output: completion,
        ..Tokens::default()
    })
}

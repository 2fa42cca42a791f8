//! A task plan in YAML, which orders the nodes of a run and says which were never reached.
//!
//! Owns: the plan as written, its checks (ids that are there once, dependencies that exist and
//! have no circle), and the order it gives. Refuses: plans that are larger than a plan can be,
//! and YAML whose aliases or nesting would blow up.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::model::nearest;

/// Bytes of a plan, which names nodes; a file above this size was given by mistake.
pub const MAX_PLAN: usize = 4 << 20;

/// A plan: `workflow`, `description`, `tasks`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Name of the workflow.
    pub workflow: Option<String>,
    /// Its tasks, in the order written.
    pub tasks: Vec<PlanTask>,
}

/// One node of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanTask {
    /// Id of the node, as in logs and checkpoints.
    pub node_id: String,
    /// Name for people.
    pub name: Option<String>,
    /// Attempts that the node may have.
    pub max_attempts: Option<u32>,
    /// Nodes that must be completed before.
    pub depends_on: Vec<String>,
}

/// Why a plan could not be used: the file, the line where one is known, and what to mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}{}: {message}", if *.line == 0 { String::new() } else { format!(":{}", .line) })]
pub struct PlanError {
    /// Name of the file, as given.
    pub name: String,
    /// Line, from 1; 0 where the fault has no line.
    pub line: u64,
    /// The fault and its remedy, as a lowercase fragment.
    pub message: String,
}

/// The plan as typed. Keys beyond these are left to the plan's own runner.
#[derive(Deserialize)]
struct PlanFile {
    #[serde(default)]
    workflow: Option<String>,
    #[serde(default)]
    tasks: Option<Vec<TaskEntry>>,
}

#[derive(Deserialize)]
struct TaskEntry {
    node_id: Spanned<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    max_attempts: Option<u32>,
    #[serde(default)]
    depends_on: Option<Vec<Spanned<String>>>,
}

impl Plan {
    /// Reads a plan; `name` is the file's name for messages.
    ///
    /// # Errors
    ///
    /// Fails on YAML that is broken or beyond its bounds, on a plan without tasks, on a node id
    /// that is there twice, and on a dependency that is unknown or goes in a circle.
    pub fn from_yaml(text: &str, name: &str) -> Result<Self, PlanError> {
        let fail = |line: u64, message: String| PlanError { name: name.to_owned(), line, message };
        if text.len() > MAX_PLAN {
            let message =
                format!("the plan has {} bytes or more, at most {MAX_PLAN} are read", text.len());
            return Err(fail(0, message));
        }
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: 64 },
            alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
            with_snippet: false,
        };
        let file: PlanFile =
            serde_saphyr::from_str_with_options(text, options).map_err(|error| {
                let line = error.location().map_or(0, |location| location.line());
                fail(
                    line,
                    format!("not a plan: {}", one_line(&error.without_snippet().to_string())),
                )
            })?;
        let entries = file.tasks.unwrap_or_default();
        if entries.is_empty() {
            return Err(fail(0, "the plan has no tasks, write `tasks: [{node_id: ...}]`".into()));
        }
        check(&entries).map_err(|(line, message)| fail(line, message))?;
        let plan = Self { workflow: file.workflow, tasks: entries.into_iter().map(task).collect() };
        if let Err(circle) = plan.sorted() {
            return Err(fail(0, format!("`depends_on` goes in a circle: {}", circle.join(" -> "))));
        }
        Ok(plan)
    }

    /// The node ids in the order in which they can run: what a node depends on comes first, and
    /// else they stand as written. Of a plan with a circle, which [`Self::from_yaml`] refuses,
    /// the order is that written.
    #[must_use]
    pub fn order(&self) -> Vec<&str> {
        let ids = |order: Vec<usize>| {
            order.into_iter().filter_map(|at| self.tasks.get(at)).map(|t| t.node_id.as_str())
        };
        match self.sorted() {
            Ok(order) => ids(order).collect(),
            Err(_) => self.tasks.iter().map(|t| t.node_id.as_str()).collect(),
        }
    }

    /// Topological order, the earliest written first (Kahn); or the ids of one circle.
    fn sorted(&self) -> Result<Vec<usize>, Vec<String>> {
        let at: HashMap<&str, usize> =
            self.tasks.iter().enumerate().map(|(at, task)| (task.node_id.as_str(), at)).collect();
        let needs: Vec<Vec<usize>> = self
            .tasks
            .iter()
            .map(|task| {
                task.depends_on.iter().filter_map(|id| at.get(id.as_str()).copied()).collect()
            })
            .collect();
        let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
        let mut unlocks = vec![Vec::new(); needs.len()];
        for (task, needed) in needs.iter().enumerate() {
            for &need in needed {
                unlocks[need].push(task);
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..needs.len()).filter(|&task| waiting[task] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(needs.len());
        while let Some(Reverse(task)) = ready.pop() {
            order.push(task);
            for &next in &unlocks[task] {
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        if order.len() == needs.len() { Ok(order) } else { Err(self.circle(&needs, &waiting)) }
    }

    /// One circle among the nodes that still wait: each of them needs another that waits, so a
    /// walk along such needs comes back to where it has been.
    fn circle(&self, needs: &[Vec<usize>], waiting: &[usize]) -> Vec<String> {
        let mut seen_at = vec![None; needs.len()];
        let mut walk = Vec::new();
        let mut next = (0..needs.len()).find(|&task| waiting[task] > 0);
        while let Some(task) = next {
            walk.push(task);
            if let Some(start) = seen_at[task] {
                return walk[start..].iter().map(|&t| self.tasks[t].node_id.clone()).collect();
            }
            seen_at[task] = Some(walk.len() - 1);
            next = needs[task].iter().copied().find(|&need| waiting[need] > 0);
        }
        Vec::new()
    }
}

/// Checks that ids are there once and that dependencies name one of them.
fn check(entries: &[TaskEntry]) -> Result<(), (u64, String)> {
    let mut lines: HashMap<&str, u64> = HashMap::new();
    for entry in entries {
        let (id, line) = (entry.node_id.value.as_str(), entry.node_id.referenced.line());
        if id.trim().is_empty() {
            return Err((line, "`node_id` is empty, give the node an id".into()));
        }
        if let Some(first) = lines.insert(id, line) {
            let message =
                format!("node `{id}` is already on line {first}, give each node its own id");
            return Err((line, message));
        }
    }
    for entry in entries {
        for need in entry.depends_on.iter().flatten() {
            let id = need.value.as_str();
            if lines.contains_key(id) {
                continue;
            }
            let known = entries.iter().map(|known| known.node_id.value.as_str());
            let hint = nearest(id, known).map_or_else(
                || "name a node of this plan".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let of = &entry.node_id.value;
            let message = format!("`{of}` depends on the unknown node `{id}`: {hint}");
            return Err((need.referenced.line(), message));
        }
    }
    Ok(())
}

fn task(entry: TaskEntry) -> PlanTask {
    let depends_on = entry.depends_on.unwrap_or_default();
    PlanTask {
        node_id: entry.node_id.value,
        name: entry.name,
        max_attempts: entry.max_attempts,
        depends_on: depends_on.into_iter().map(|need| need.value).collect(),
    }
}

/// The parser's message without what follows: its position, which stands in front already, and
/// advice to whoever calls it.
fn one_line(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    let line = line.rsplit_once(" at line ").map_or(line, |(told, _)| told);
    line.split(", set ").next().unwrap_or(line)
}

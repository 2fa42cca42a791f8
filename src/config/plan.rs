//! A task plan in YAML, which orders the nodes of a run and says which were never reached.

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

//! Reading runs through the library, each judged as it comes.

use agenteval::evaluate::{Judge, JudgeState, RunRow};
use agenteval::ingest::Visitor;
use agenteval::model::Trajectory;

/// Gives the row of each run.
pub(crate) struct Rows<'c>(pub(crate) Judge<'c>);

impl Visitor for Rows<'_> {
    type Out = RunRow;
    type State = JudgeState;
    fn state(&self) -> JudgeState {
        self.0.state()
    }
    fn visit(&self, state: &mut JudgeState, run: &Trajectory<'_>) -> RunRow {
        self.0.row(state, run)
    }
    fn retire(&self, _: JudgeState) {}
}

//! `agenteval schema`: JSON Schemas of what is read and written.

use super::args::{Schema, SchemaKind};
use super::{Outcome, output};
use crate::config::config_schema;
use crate::ingest::formats::native::trace_schema;
use crate::render::{AnalyzeReport, pretty_json};

/// Prints one schema.
pub(super) fn run(args: &Schema) -> Outcome {
    let schema = match args.kind {
        SchemaKind::Config => config_schema(),
        SchemaKind::Trace => trace_schema(),
        SchemaKind::Report => schemars::schema_for!(AnalyzeReport).into(),
    };
    output::print(&pretty_json(&schema))
}

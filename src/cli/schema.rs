//! `agenteval schema`: JSON Schemas of what is read and written.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::args::{Schema, SchemaKind};
use super::{Outcome, output};
use crate::baseline::baseline_schema;
use crate::config::{config_schema, mapping_schema};
use crate::ingest::formats::native::trace_schema;
use crate::render::{AnalyzeReport, ComparisonWire, GateReport, pretty_json};

/// Prints one schema.
pub(super) fn run(args: &Schema) -> Outcome {
    let schema = match args.kind {
        SchemaKind::Config => config_schema(),
        SchemaKind::Trace => trace_schema(),
        SchemaKind::Map => mapping_schema(),
        SchemaKind::Baseline => baseline_schema(),
        SchemaKind::Report => written::<AnalyzeReport>(),
        SchemaKind::Gate => written::<GateReport>(),
        SchemaKind::Compare => written::<ComparisonWire>(),
    };
    output::print(&pretty_json(&schema))
}

/// As written, so that a part which is left out when empty is not required.
fn written<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().into()
}

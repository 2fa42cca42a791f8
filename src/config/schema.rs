//! The JSON Schema of the eval config, made from its wire form.

use serde_json::{Value, json};

use super::wire;
use crate::model::METRIC_NAMES;

/// The schema that `agenteval schema config` prints.
///
/// Metric names are spelt out, so that editors complete them.
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = schemars::schema_for!(wire::Config).to_value();
    let names: Vec<&str> = METRIC_NAMES
        .iter()
        .flat_map(|metric| std::iter::once(metric.name).chain(metric.alias))
        .collect();
    let mut margins = names.clone();
    margins.push("default");
    set(&mut schema, "/properties/metrics/items", json!({"enum": names}));
    set(&mut schema, "/$defs/Gate/properties/metrics/items", json!({"enum": names}));
    set(&mut schema, "/properties/thresholds/propertyNames", json!({"enum": names}));
    set(&mut schema, "/$defs/Gate/properties/margin/propertyNames", json!({"enum": margins}));
    schema
}

/// Sets the last key of a pointer; its parent is always there, which a test holds.
fn set(schema: &mut Value, pointer: &str, value: Value) {
    if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(members)) = schema.pointer_mut(parent)
    {
        members.insert(key.to_owned(), value);
    }
}

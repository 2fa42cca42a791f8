//! What tools promise to give: the JSON Schemas that the config's `tool_schemas` names.
//!
//! Owns: reading and compiling them, and the first fault of an output. Refuses to fetch: a reference out
//! of the file is an error. Faults name places and rules, never values, so nothing secret is in them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::config::EvalConfig;

/// Largest schema file, in bytes.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Characters of a fault that are kept.
const SHOWN: usize = 300;

/// Why the schema of a tool cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("tool_schemas: the schema of `{tool}` in {file} {fault}")]
pub struct SchemaError {
    /// The tool.
    pub tool: String,
    /// The file, as found.
    pub file: String,
    /// What is wrong with it.
    pub fault: String,
}

/// The schemas by tool.
#[derive(Clone, Default)]
pub struct ToolSchemas {
    by_tool: Arc<BTreeMap<String, Validator>>,
    files: Vec<PathBuf>,
}

impl fmt::Debug for ToolSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSchemas").field("files", &self.files).finish()
    }
}

impl ToolSchemas {
    /// Reads the files that the config names, which are relative to the config's folder.
    ///
    /// # Errors
    /// A file that is missing, larger than 4 MiB, no JSON or no schema, or that refers to another
    /// file.
    pub fn load(config: &EvalConfig, folder: &Path) -> Result<Self, SchemaError> {
        let mut by_tool = BTreeMap::new();
        let mut files = Vec::new();
        for (tool, written) in &config.tool_schemas {
            let path = folder.join(written);
            let validator = compile(&path).map_err(|fault| SchemaError {
                tool: tool.clone(),
                file: path.display().to_string(),
                fault,
            })?;
            by_tool.insert(tool.clone(), validator);
            files.push(path);
        }
        Ok(Self { by_tool: Arc::new(by_tool), files })
    }

    /// The files that were read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Whether there is a schema for a tool.
    #[must_use]
    pub fn knows(&self, tool: &str) -> bool {
        self.by_tool.contains_key(tool)
    }

    /// The first fault of what a tool gave, as JSON text; `None` where it holds, or where the tool has
    /// no schema or the text is no JSON. JSON inside a string may hold as well as the string itself:
    /// many tools give their answer as text.
    #[must_use]
    pub fn fault(&self, tool: &str, output: &str) -> Option<String> {
        let validator = self.by_tool.get(tool)?;
        let value: Value = serde_json::from_str(output).ok()?;
        if let Value::String(text) = &value
            && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            let fault = first_fault(validator, &inner)?;
            return first_fault(validator, &value).map(|_| fault);
        }
        first_fault(validator, &value)
    }
}

fn first_fault(validator: &Validator, value: &Value) -> Option<String> {
    let fault = validator.iter_errors(value).next()?;
    let place = fault.instance_path().to_string();
    let place = if place.is_empty() { "the output".to_owned() } else { format!("`{place}`") };
    let text = format!("at {place}: {}", fault.masked());
    Some(text.chars().take(SHOWN).collect())
}

/// Reads and compiles one schema; the error tells what is wrong with it.
fn compile(path: &Path) -> Result<Validator, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let size = std::fs::metadata(path).map_err(unreadable)?;
    if !size.is_file() {
        return Err("cannot be read: it is no file".to_owned());
    }
    if size.len() > LARGEST {
        return Err(format!("is larger than {} MiB", LARGEST / 1024 / 1024));
    }
    let text = std::fs::read(path).map_err(unreadable)?;
    let schema: Value =
        serde_json::from_slice(&text).map_err(|error| format!("is no JSON: {error}"))?;
    // The plain engine takes linear time, whatever the output holds.
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .build(&schema)
        .map_err(|error| {
            let text: String = error.masked().to_string().chars().take(SHOWN).collect();
            format!("is no schema: {text}; what it refers to must be in the same file (`$defs`)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(schema: &str, output: &str) -> Option<String> {
        let folder = tempfile::tempdir().ok()?;
        std::fs::write(folder.path().join("s.json"), schema).ok()?;
        let config = EvalConfig::from_json(br#"{"tool_schemas": {"t": "s.json"}}"#, "c").ok()?;
        ToolSchemas::load(&config, folder.path()).ok()?.fault("t", output)
    }

    #[test]
    fn a_fault_names_place_and_rule_but_no_value() {
        let schema = r#"{"properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;
        assert_eq!(fault(schema, r#"{"n": 1}"#), None);
        let told = fault(schema, r#"{"n": "secret"}"#).unwrap_or_default();
        assert_eq!(told, "at `/n`: value is not of type \"integer\"");
        let told = fault(schema, "{}").unwrap_or_default();
        assert_eq!(told, "at the output: \"n\" is a required property");
    }

    #[test]
    fn json_inside_a_text_is_looked_into() {
        let schema = r#"{"type": "object", "required": ["id"]}"#;
        assert_eq!(fault(schema, r#""{\"id\": 1}""#), None);
        assert!(fault(schema, r#""{\"no\": 1}""#).is_some());
        assert!(fault(schema, r#""plain words""#).is_some());
        assert_eq!(fault(r#"{"type": "string"}"#, r#""{\"id\": 1}""#), None);
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        for schema in [
            r##"{"$ref": "#"}"##,
            r##"{"allOf": [{"$ref": "#"}]}"##,
            r##"{"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}"##,
        ] {
            // Whatever it says: it says it, and the stack holds.
            drop(fault(schema, r#"{"a": [1]}"#));
        }
    }
}

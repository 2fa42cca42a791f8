//! The JSON Schema of the native trace, for editors and for people who write it.

use serde_json::{Value, json};

/// The schema of a file in the native form: an array of runs, an object with `traces` or `runs`, or one run.
#[must_use]
pub fn trace_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "agenteval native trace",
        "description": "In NDJSON every line is one run.",
        "anyOf": [
            {"type": "array", "items": {"$ref": "#/$defs/run"}},
            {"type": "object", "required": ["traces"], "properties": {
                "traces": {"type": "array", "items": {"$ref": "#/$defs/run"}}}},
            {"type": "object", "required": ["runs"], "properties": {
                "runs": {"type": "array", "items": {"$ref": "#/$defs/run"}}}},
            {"$ref": "#/$defs/run"}
        ],
        "$defs": {"run": run(), "step": step(), "error": error(), "tokens": tokens(), "time": time(), "label": label()}
    })
}

fn label() -> Value {
    json!({"type": ["string", "number", "null"]})
}

fn time() -> Value {
    json!({
        "description": "ISO 8601, or a number since the Unix epoch in s, ms, us or ns",
        "type": ["string", "number", "null"]
    })
}

fn run() -> Value {
    json!({
        "type": "object",
        "required": ["steps"],
        "properties": {
            "run_id": {"$ref": "#/$defs/label"},
            "task_id": {"description": "what was to be done; trials of one task share it", "$ref": "#/$defs/label"},
            "trial": {"description": "which repetition of the task", "$ref": "#/$defs/label"},
            "agent": {"$ref": "#/$defs/label"},
            "model": {"$ref": "#/$defs/label"},
            "tags": {"description": "labels for --by tag:KEY", "type": ["object", "array", "string", "null"]},
            "status": {"description": "how the run ended, as a word", "$ref": "#/$defs/label"},
            "end_reason": {"description": "why it stopped", "$ref": "#/$defs/label"},
            "score": {"type": ["number", "boolean", "string", "null"]},
            "scores": {"description": "scores by scorer", "type": ["object", "null"]},
            "success": {"type": ["boolean", "number", "string", "null"]},
            "started_at": {"$ref": "#/$defs/time"},
            "ended_at": {"$ref": "#/$defs/time"},
            "duration_ms": {"type": ["number", "string", "null"]},
            "tokens": {"$ref": "#/$defs/tokens"},
            "cost_usd": {"type": ["number", "string", "null"]},
            "final": {"description": "what the run delivered; expressions read it as `final`"},
            "retry_source": {"enum": ["recorded", "inferred", null]},
            "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}}
        }
    })
}

fn step() -> Value {
    let whole =
        |what: &str| json!({"description": what, "type": ["integer", "number", "string", "null"]});
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "step_id": {"description": "attempts with one id are one step", "$ref": "#/$defs/label"},
            "node_id": {"description": "used where there is no step_id", "$ref": "#/$defs/label"},
            "index": {"description": "place in the run; used as key where there is neither id", "type": ["number", "string", "null"]},
            "attempt": whole("number of this attempt among those of its step, from 1"),
            "attempts": {
                "description": "a count of attempts of which this is the last, or the attempts themselves",
                "anyOf": [whole("a count"), {"type": "array", "items": {"type": "object"}}]
            },
            "retries": whole("a count of retries"),
            "retry_count": whole("the same under another name"),
            "type": {"type": ["string", "number"]},
            "name": {"description": "tool, node or model", "$ref": "#/$defs/label"},
            "status": {"$ref": "#/$defs/label"},
            "request_id": {"$ref": "#/$defs/label"},
            "tool_call_id": {"description": "used where there is no request_id", "$ref": "#/$defs/label"},
            "input": {"description": "anything; kept as a hash to find repeated actions"},
            "output": {"description": "anything; not read"},
            "reasoning": {"description": "anything; not read"},
            "error": {"$ref": "#/$defs/error"},
            "started_at": {"$ref": "#/$defs/time"},
            "ended_at": {"$ref": "#/$defs/time"},
            "duration_ms": {"type": ["number", "string", "null"]},
            "tokens": {"$ref": "#/$defs/tokens"},
            "cost_usd": {"type": ["number", "string", "null"]}
        }
    })
}

fn error() -> Value {
    json!({
        "description": "any non-null value is an error; false is none",
        "anyOf": [
            {"type": ["null", "string", "boolean"]},
            {"type": "object", "properties": {
                "type": {"$ref": "#/$defs/label"}, "message": {"$ref": "#/$defs/label"}}}
        ]
    })
}

fn tokens() -> Value {
    let count = || json!({"type": ["number", "string", "null"]});
    json!({
        "description": "one total, or the parts: prompt is input that no cache served",
        "anyOf": [
            {"type": ["number", "string", "null"]},
            {"type": "object", "properties": {
                "prompt": count(), "completion": count(), "cache_read": count(),
                "cache_write": count(), "total": count()}}
        ]
    })
}

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
            "scores": {
                "description": "scores by scorer; a list where one name stands for several",
                "anyOf": [{"type": ["object", "null"]}, {"type": "array", "items": {
                    "type": "object", "required": ["name", "value"],
                    "properties": {"name": {"$ref": "#/$defs/label"}, "value": {}}}}]
            },
            "success": {"type": ["boolean", "number", "string", "null"]},
            "started_at": {"$ref": "#/$defs/time"},
            "ended_at": {"$ref": "#/$defs/time"},
            "duration_ms": {"type": ["number", "string", "null"]},
            "tokens": {"$ref": "#/$defs/tokens"},
            "cost_usd": {"type": ["number", "string", "null"]},
            "final": {"description": "what the run delivered; expressions read it as `final`"},
            "retry_source": {"description": "how retries are known; written by convert", "enum": ["recorded", "inferred", null]},
            "end_rule": {"description": "what the rules of the source format say of the end; written by convert", "enum": ["unfinished", "cancelled", null]},
            "format_outcome": {"description": "whether the run was completed by the rules of the source format, used after score and success; written by convert", "type": ["boolean", "null"]},
            "order_unknown": {"description": "true: the order of the steps is not known; written by convert", "type": ["boolean", "null"]},
            "steps_unknown": {"description": "true: the source says nothing of steps; written by convert", "type": ["boolean", "null"]},
            "never_reached": {"description": "planned nodes that the run never reached; written by convert", "type": ["array", "null"], "items": {"$ref": "#/$defs/label"}},
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
            "attempts_total": whole("goes before `attempts` and `retries` where those count otherwise; written by convert"),
            "nested_in": whole("attempts with one number here are one step, whatever their ids; written by convert"),
            "type": {"type": ["string", "number"]},
            "name": {"description": "tool, node or model", "$ref": "#/$defs/label"},
            "status": {"$ref": "#/$defs/label"},
            "request_id": {"$ref": "#/$defs/label"},
            "tool_call_id": {"description": "used where there is no request_id", "$ref": "#/$defs/label"},
            "input": {"description": "anything; kept as a hash to find repeated actions"},
            "input_hash": {"description": "stands for the input where that is not recorded: xxh3: and 16 hex digits, equal for equal inputs; or unknown; written by convert", "type": ["string", "null"]},
            "output": {"description": "anything; not read"},
            "reasoning": {"description": "anything; not read"},
            "error": {"$ref": "#/$defs/error"},
            "error_origin": {"description": "how the error is known; written by convert", "enum": ["recorded", "flag", "text", "exit_code", null]},
            "status_decides": {"description": "true: the status says what passed, and `error` is only the last one known; written by convert", "type": ["boolean", "null"]},
            "model_turn": {"description": "true: a turn of a model between calls, a step only where the config says so; written by convert", "type": ["boolean", "null"]},
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
                "cache_write": count(), "total": count(),
                "unsplit": {"description": "tokens of which only the total is known, beside the parts; written by convert", "type": ["number", "string", "null"]}}}
        ]
    })
}

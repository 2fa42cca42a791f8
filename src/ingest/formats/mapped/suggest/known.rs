//! Which ready mapping reads records of this shape.

use super::shapes::Shapes;

/// The name of the ready mapping whose records these are.
pub(super) fn ready(shapes: &Shapes) -> Option<&'static str> {
    let has = |paths: &[&str]| shapes.has(paths);
    let values = |path: &str, wanted: &[&str]| {
        shapes.get(path).is_some_and(|shape| wanted.iter().any(|w| shape.values.contains_key(*w)))
    };
    let numeric = |path: &str| {
        shapes.get(path).is_some_and(|shape| shape.count > 0 && shape.numbers == shape.count)
    };
    if has(&["level", "time"]) && numeric("level") && (has(&["msg"]) || has(&["pid", "hostname"])) {
        Some("pino")
    } else if has(&["timestamp", "level", "target"])
        && (has(&["fields.message"]) || (has(&["message"]) && has(&["span.name"])))
    {
        Some("rust-tracing")
    } else if has(&["levelname", "message"]) {
        Some("python-json-logger")
    } else if has(&["event", "level", "timestamp"]) && !numeric("level") {
        Some("structlog")
    } else if values("type", &["tool.start", "tool.end", "agent.start"]) && has(&["sessionKey"]) {
        Some("openclaw")
    } else if values("[0]", &["client.beta.sessions.events.stream"]) {
        Some("anthropic-managed")
    } else if has(&["config.configurable.thread_id", "metadata.step", "created_at"]) {
        Some("langgraph-history")
    } else if has(&["state.history", "state.terminate_reason", "task.task_id"]) {
        Some("mint")
    } else if has(&["event_type", "component", "payload.runtime_trace"]) {
        Some("activegraph")
    } else if has(&["$schemaVersion", "generated_items"])
        || has(&["\"$schemaVersion\"", "generated_items"])
    {
        Some("openai-run-state")
    } else {
        None
    }
}

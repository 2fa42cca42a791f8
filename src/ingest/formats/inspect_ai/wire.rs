//! The parts of an Inspect log that are read, as written.
//!
//! Owns: names of keys. Refuses: meaning. `events` and `output` are decoded where they are
//! used, and what no figure needs (a model's input, a tool's result) is never decoded.

use crate::ingest::formats::raw::raw_fields;

raw_fields! {
    /// The log, or the head of an archive.
    Log { status, eval, plan, results, error, invalidated, samples }
}
raw_fields! {
    /// What was run.
    Spec { run_id, eval_id, task, task_id, model, solver, tags, metadata }
}
raw_fields! {
    /// The solvers of the run.
    Plan { name, steps }
}
raw_fields! {
    /// One solver.
    PlanStep { solver }
}
raw_fields! {
    /// How many samples there were.
    Results { total_samples }
}
raw_fields! {
    /// One sample in one epoch. `score` and `transcript` are of the oldest logs.
    Sample {
        id, epoch, uuid, messages, output, scores, score, events, transcript, model_usage,
        attachments, error, error_retries, limit, started_at, completed_at, total_time,
    }
}
raw_fields! {
    /// A list of events as the oldest logs nest it.
    Transcript { events }
}
raw_fields! {
    /// An error of a log, a sample, or a tool call.
    Fault { kind = "type", message }
}
raw_fields! {
    /// What a model gave.
    Output { completion, choices, usage }
}
raw_fields! {
    /// One of a model's answers.
    Choice { message }
}
raw_fields! {
    /// Tokens of one call or of a sample.
    Usage {
        input_tokens, output_tokens, total_tokens, input_tokens_cache_read,
        input_tokens_cache_write, total_cost,
    }
}
raw_fields! {
    /// Any event; which fields are there depends on `event`.
    Event {
        event, uuid, timestamp, completed, working_time, pending, id, function, arguments, error,
        failed, events, model, output, approver, decision,
    }
}
raw_fields! {
    /// A chat message.
    Message { role, content, tool_calls, tool_call_id, function, error, tool_error }
}
raw_fields! {
    /// A call in an assistant message.
    Call { id, function, arguments, parse_error }
}

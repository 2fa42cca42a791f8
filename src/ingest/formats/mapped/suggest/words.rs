//! The names under which logs keep what a mapping wants, and what the words of events say.

use crate::config::mapping::Class;

/// Field, and the names that it has elsewhere: lower case, without `_`, `-` and spaces; the
/// likeliest first.
pub(super) type Names = (&'static str, &'static [&'static str]);

/// Names of the fields of a run.
pub(super) const RUN: &[Names] = &[
    (
        "run_id",
        &[
            "runid",
            "workflowid",
            "traceid",
            "sessionid",
            "sessionkey",
            "threadid",
            "conversationid",
            "executionid",
            "episodeid",
            "jobid",
            "simulationid",
            "rolloutid",
            "session",
            "sess",
            "sid",
            "run",
            "trace",
            "thread",
            "conversation",
            "episode",
            "job",
            "workflow",
        ],
    ),
    (
        "task_id",
        &[
            "taskid",
            "task",
            "instanceid",
            "taskname",
            "problemid",
            "questionid",
            "caseid",
            "testid",
            "exampleid",
            "sampleid",
            "workflow",
            "scenario",
            "case",
            "testcase",
            "problem",
            "question",
            "instance",
        ],
    ),
    ("trial", &["trial", "trialid", "seed", "epoch", "repetition", "replicate", "rollout"]),
    ("agent", &["agent", "agentname", "agentid", "assistant", "assistantid", "bot"]),
    ("model", &["model", "modelname", "modelid", "llm", "engine"]),
    ("score", &["score", "reward", "grade", "accuracy"]),
    ("success", &["success", "succeeded", "passed", "resolved", "correct", "solved", "iscorrect"]),
    (
        "end_reason",
        &[
            "endreason",
            "terminatereason",
            "terminationreason",
            "stopreason",
            "finishreason",
            "exitreason",
        ],
    ),
];

/// Names of the fields of a step.
pub(super) const STEP: &[Names] = &[
    ("step_id", &["stepid", "nodeid", "activityid", "actionid", "stepnumber", "stepno", "step"]),
    (
        "attempt",
        &["attempt", "attemptnumber", "attemptno", "try", "tryno", "trynumber", "attemptid"],
    ),
    ("attempts", &["attempts", "tries", "attemptcount", "retries", "retrycount", "numretries"]),
    ("type", &["steptype", "nodetype", "spantype", "spankind", "kind", "category"]),
    (
        "name",
        &[
            "toolname",
            "tool",
            "nodename",
            "stepname",
            "functionname",
            "function",
            "actionname",
            "action",
            "act",
            "operation",
            "activity",
            "node",
            "step",
            "name",
        ],
    ),
    (
        "status",
        &["status", "state", "outcome", "result", "statuscode", "returncode", "exitcode", "rc"],
    ),
    ("success", &["success", "succeeded", "ok", "passed"]),
    ("error", &["error", "err", "exception", "failure"]),
    (
        "error_type",
        &["errortype", "exceptiontype", "errorclass", "errorkind", "errorcode", "exctype"],
    ),
    ("error_message", &["errormessage", "errormsg", "exceptionmessage", "errortext", "excvalue"]),
    ("request_id", &["toolcallid", "callid", "tooluseid", "invocationid", "spanid"]),
    ("input", &["input", "inputs", "arguments", "args", "params", "parameters", "toolinput"]),
    ("output", &["output", "outputs", "observation", "obs", "response", "tooloutput"]),
    ("started_at", &["startedat", "starttime", "starttimestamp", "start", "begin", "begintime"]),
    (
        "ended_at",
        &["endedat", "endtime", "endtimestamp", "finishedat", "completedat", "end", "finishtime"],
    ),
    ("cost", &["costusd", "cost", "totalcost", "price"]),
];

/// Names of tokens.
pub(super) const TOKENS: &[Names] = &[
    ("input", &["inputtokens", "prompttokens", "tokensin", "tokensinput", "intokens"]),
    ("cache_read", &["cachereadinputtokens", "cachereadtokens", "cachedtokens", "cacheread"]),
    ("cache_write", &["cachecreationinputtokens", "cachewritetokens", "cachewrite"]),
    ("output", &["outputtokens", "completiontokens", "tokensout", "tokensoutput", "outtokens"]),
    ("total", &["totaltokens", "tokens", "tokencount", "tokenstotal"]),
];

/// Names of the time at which a record was written.
pub(super) const TIME: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "@timestamp",
    "asctime",
    "datetime",
    "createdat",
    "loggedat",
    "created",
    "date",
    "eventtime",
    "processedat",
];

/// Names of durations, with the unit that they name; without one it is told by size.
pub(super) const DURATION: &[(&str, Option<&str>)] = &[
    ("durationms", Some("ms")),
    ("latencyms", Some("ms")),
    ("elapsedms", Some("ms")),
    ("durationmillis", Some("ms")),
    ("durations", Some("s")),
    ("durationsec", Some("s")),
    ("durationseconds", Some("s")),
    ("seconds", Some("s")),
    ("millis", Some("ms")),
    ("elapsedseconds", Some("s")),
    ("elapseds", Some("s")),
    ("latencys", Some("s")),
    ("durationus", Some("us")),
    ("durationns", Some("ns")),
    ("duration", None),
    ("latency", None),
    ("elapsed", None),
    ("took", None),
    ("runtime", None),
];

/// Names of the field that says what happened.
pub(super) const EVENT: &[&str] = &[
    "event",
    "eventtype",
    "eventname",
    "eventkind",
    "ev",
    "evt",
    "type",
    "msg",
    "message",
    "action",
    "phase",
    "kind",
    "op",
];

/// A name as the tables have it.
pub(super) fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// What the words of an event say, and whether it failed by them; `None` where they say nothing.
pub(super) fn class(event: &str) -> Option<(Class, bool)> {
    let mut spaced = String::new();
    let mut lower = false;
    for c in event.chars() {
        // `toolStart` is two words.
        if c.is_uppercase() && lower {
            spaced.push(' ');
        }
        lower = c.is_lowercase();
        spaced.extend(c.to_lowercase());
    }
    let words: Vec<&str> =
        spaced.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let start = has(&[
        "start",
        "started",
        "starting",
        "begin",
        "began",
        "open",
        "opened",
        "enter",
        "requested",
        "scheduled",
        "dispatched",
        "invoked",
    ]);
    let failed =
        has(&["fail", "failed", "failure", "error", "errored", "exception", "crashed", "timeout"]);
    let end = has(&[
        "end",
        "ended",
        "finish",
        "finished",
        "complete",
        "completed",
        "done",
        "close",
        "closed",
        "success",
        "succeeded",
        "result",
        "exit",
        "stop",
        "stopped",
    ]) || failed;
    let step = has(&[
        "step", "node", "tool", "task", "action", "activity", "function", "call", "llm", "span",
    ]);
    let run = has(&[
        "run",
        "workflow",
        "session",
        "episode",
        "simulation",
        "job",
        "agent",
        "rollout",
        "conversation",
        "thread",
    ]);
    if has(&["retry", "retrying", "retried", "retries"]) {
        return Some((Class::Retry, false));
    }
    if has(&["metric", "metrics", "usage", "cost"]) {
        return Some((Class::Metric, false));
    }
    match (run && !step, start, end) {
        (true, true, _) => Some((Class::RunStart, false)),
        (true, _, true) => Some((Class::RunEnd, failed)),
        (false, true, _) => Some((Class::StepStart, false)),
        (false, _, true) if !step && words.len() == 1 && failed => Some((Class::Error, true)),
        (false, _, true) => Some((Class::StepEnd, failed)),
        _ if has(&["use"]) && step => Some((Class::StepStart, false)),
        _ if words.as_slice() == ["step"] => Some((Class::Step, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::class;
    use crate::config::mapping::Class;

    #[test]
    fn the_words_of_events_are_read() {
        for (event, is) in [
            ("tool.start", Some((Class::StepStart, false))),
            ("toolEnd", Some((Class::StepEnd, false))),
            ("node failed", Some((Class::StepEnd, true))),
            ("node_retry", Some((Class::Retry, false))),
            ("workflow_started", Some((Class::RunStart, false))),
            ("run completed", Some((Class::RunEnd, false))),
            ("tool_use", Some((Class::StepStart, false))),
            ("tool_result", Some((Class::StepEnd, false))),
            ("error", Some((Class::Error, true))),
            ("usage", Some((Class::Metric, false))),
            ("heartbeat", None),
        ] {
            assert_eq!(class(event), is, "{event}");
        }
    }
}

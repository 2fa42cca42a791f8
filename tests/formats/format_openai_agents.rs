//! The trace export of the OpenAI Agents SDK.

use crate::spans::{
    accounted, failed, format_of, issue, kind, read_text, run, steps, tag, tokens, turns, uncached,
};
use crate::support::{fixture_text, shared_text};
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::openai_agents::OPENAI_AGENTS;
use agenteval::model::{Final, Tokens};

#[test]
fn two_traces_give_a_recovered_run_with_a_handoff_and_a_failed_one() {
    let text = fixture_text("openai-agents/two_traces.ndjson");
    assert_eq!(format_of(&text), "openai-agents");
    let (parsed, fates) = read_text(&OPENAI_AGENTS, &text);
    assert!(fates.iter().all(|fate| *fate == Fate::Used), "{fates:?}");
    let first = run(&parsed.runs, "trace_01");
    let kinds: Vec<&str> = steps(first).iter().map(|step| step.kind.as_ref()).collect();
    assert_eq!(kinds, ["tool", "tool", "handoff"]);
    assert_eq!(steps(first)[2].name.as_deref(), Some("billing"));
    let errors = failed(first);
    assert_eq!(errors.len(), 1);
    assert_eq!(kind(errors[0]), Some("TimeoutError"));
    assert_eq!(steps(first)[0].input, steps(first)[1].input);
    assert_eq!(tokens(first), uncached(60.0, 6.0), "the generation's, not the turn's too");
    assert_eq!(turns(first), 1);
    assert_eq!(first.agent.as_deref(), Some("host"));
    assert_eq!(first.model.as_deref(), Some("small-1"));
    assert_eq!(first.task_id.as_deref(), Some("thread-8"));
    assert_eq!((tag(first, "group"), tag(first, "customer")), (Some("thread-8"), Some("c-1")));
    assert_eq!(first.format_outcome, None);
    let second = run(&parsed.runs, "trace_02");
    assert_eq!(second.format_outcome, Some(false));
    assert_eq!(turns(second), 1, "a turn and the response in it are one model call");
    let wanted = Tokens { input: 10.0, cache_read: 40.0, output: 5.0, ..Tokens::default() };
    assert_eq!(tokens(second), wanted);
    let Final::Json(end) = &second.final_output else { panic!("an end") };
    assert!(end.contains("Max turns exceeded"), "{end}");
    assert_eq!(accounted(&parsed), 10);
    assert_eq!(issue(&parsed, "calls_without_span"), None);
}

#[test]
fn the_sdk_file_gives_the_two_runs_of_the_otlp_file() {
    let Some(text) = shared_text("openai_agents/trace_spans.ndjson") else { return };
    assert_eq!(format_of(&text), "openai-agents");
    let (parsed, _) = read_text(&OPENAI_AGENTS, &text);
    assert_eq!(parsed.runs.len(), 2);
    let a = run(&parsed.runs, "trace_6fc013da97b94677bf0943dff9624e7d");
    let errors: Vec<bool> = steps(a).iter().map(|step| step.error.is_some()).collect();
    assert_eq!(errors, [true, false]);
    assert_eq!(kind(steps(a)[0]), Some("error_running_tool_non_fatal"));
    assert_eq!((a.format_outcome, a.agent.as_deref()), (None, Some("weather_agent")));
    assert_eq!(tokens(a), uncached(300.0, 60.0));
    assert_eq!(turns(a), 3);
    let b = run(&parsed.runs, "trace_9801e3474fb946cd869a6603aee1591a");
    assert_eq!((steps(b).len(), failed(b).len()), (2, 0));
    assert_eq!((b.format_outcome, b.agent.as_deref()), (Some(false), Some("looping_agent")));
    assert_eq!(tokens(b), uncached(200.0, 40.0));
    assert_eq!(accounted(&parsed), 13);
}

#[test]
fn a_trace_without_spans_is_a_run_of_which_no_step_is_known_and_is_told() {
    let trace =
        r#"{"object":"trace","id":"trace_1","workflow_name":"w","group_id":null,"metadata":null}"#;
    let (parsed, fates) = read_text(
        &OPENAI_AGENTS,
        &format!("{trace}\n{trace}\n{{\"object\":\"x\",\"trace_id\":\"t\",\"span_data\":{{}}}}"),
    );
    assert_eq!(fates[..2], [Fate::Used, Fate::Merged("duplicate_trace")]);
    assert!(matches!(&fates[2], Fate::Refused(refusal) if refusal.code == "no_readable_span"));
    assert!(parsed.runs[0].steps_unknown);
    assert!(issue(&parsed, "trace_without_spans").is_some());
}

#[test]
fn other_files_of_the_sdk_are_not_claimed() {
    for name in ["openai_agents/run_state_v1_13.json", "openai_agents/to_input_list.json"] {
        if let Some(text) = shared_text(name) {
            assert_ne!(format_of(&text), "openai-agents", "{name}");
        }
    }
}

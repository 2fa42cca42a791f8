//! smolagents steps and run results.

use crate::cli;
use crate::frames;
use crate::support::shared;
use agenteval::ingest::formats::Fate;
use agenteval::ingest::formats::smolagents::SMOLAGENTS;
use serde_json::{Value, json};

const RESULT: &[u8] = include_bytes!("../../fixtures/smolagents/run_result.json");

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(String, String); N] {
    pairs.map(|(name, fate)| (name.into(), fate.into()))
}

#[test]
fn a_failed_step_takes_its_calls_from_the_model_and_its_error_goes_to_the_tool_that_it_names() {
    let given = frames::read(&SMOLAGENTS, RESULT);
    let run = &given.runs[0];
    let expected = [
        ("clock", "pending"),
        ("weather", "!AgentToolExecutionError"),
        ("weather", "-"),
        ("final_answer", "-"),
    ];
    assert_eq!(frames::fates(run), pairs(expected));
    assert_eq!(frames::codes(&given), [("calls_without_result", 1)]);
    assert_eq!(frames::tokens(run), [300.0, 0.0, 0.0, 60.0]);
    let calls = frames::calls(run);
    assert!(calls[1].input.is_some() && calls[1].input == calls[2].input);
    assert_eq!(run.task_id.as_deref(), Some("Weather in Paris?"));
    let wanted = json!({"status": "success", "output": "Paris: rain"});
    assert_eq!(frames::delivered(run), wanted);
}

#[test]
fn the_state_is_a_status_word_and_a_final_answer_without_one_is_no_success() {
    let run = frames::run_of(&SMOLAGENTS, RESULT);
    assert_eq!((run.status.as_deref(), run.format_outcome), (Some("success"), None));
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let steps = serde_json::to_vec(&result["steps"]).unwrap();
    let bare = frames::run_of(&SMOLAGENTS, &steps);
    assert_eq!((bare.status.as_deref(), bare.format_outcome, bare.end_rule), (None, None, None));
    assert_eq!(frames::fates(&bare), frames::fates(&run));
    let report = |bytes: &[u8]| {
        let folder = cli::Folder::new();
        let path = folder.file("steps.json", bytes);
        cli::figure(&cli::report(&[&path]), "final_completion_rate")
    };
    assert_eq!(report(RESULT), (Some(1.0), Some(1.0), Some(1.0)));
    assert_eq!(report(&steps).0, None);
}

#[test]
fn an_agent_that_goes_on_with_another_task_has_two_runs() {
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let mut steps = result["steps"].as_array().unwrap().clone();
    steps.push(json!({"task": "And in Lyon?", "task_images": null}));
    steps.push(
        json!({"step_number": 4, "timing": {"start_time": 1.0, "end_time": 2.0}, "tool_calls": [],
        "error": {"type": "AgentGenerationError", "message": "HTTP 500"}}),
    );
    let given = frames::read(&SMOLAGENTS, &serde_json::to_vec(&steps).unwrap());
    assert_eq!(given.runs.len(), 2);
    let second = &given.runs[1];
    assert_eq!(second.task_id.as_deref(), Some("And in Lyon?"));
    // A model call that fails ends the run, and is no tool call.
    assert_eq!((second.format_outcome, frames::calls(second).len()), (Some(false), 0));
    assert!(second.attempts[0].error.is_some());
}

#[test]
fn long_tasks_keep_apart_and_steps_a_line_are_one_run() {
    let task =
        |end: &str| json!([{"task": format!("{}{end}", "é".repeat(200)), "task_images": null}]);
    let id = |task: Value| {
        frames::run_of(&SMOLAGENTS, &serde_json::to_vec(&task).unwrap()).task_id.unwrap()
    };
    assert_eq!(id(task("a")), id(task("a")));
    assert_ne!(id(task("a")), id(task("b")));
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let steps = result["steps"].as_array().unwrap();
    let lines: Vec<Vec<u8>> = steps.iter().map(|m| serde_json::to_vec(m).unwrap()).collect();
    let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    let given = frames::read_records(&SMOLAGENTS, &lines, false);
    assert_eq!((given.runs.len(), frames::calls(&given.runs[0]).len()), (1, 4));
}

#[test]
fn what_is_no_step_is_refused_or_told() {
    for odd in ["{}", "[]", "[7]", r#"{"state":"success","steps":[]}"#] {
        let given = frames::read(&SMOLAGENTS, odd.as_bytes());
        assert!(
            matches!(&given.fates[0], Fate::Refused(why) if why.code == "no_messages"),
            "{odd}"
        );
    }
    let error = br#"[{"step_number":1,"timing":{},"tool_calls":[],"error":{}}]"#;
    let run = frames::run_of(&SMOLAGENTS, error);
    assert_eq!(frames::fates(&run), pairs([("-", "!-")]), "an empty error is one");
}

fn real(name: &str) -> Option<agenteval::model::Trajectory<'static>> {
    let path = shared(&format!("data/smolagents/{name}"))?;
    let page = cli::json(&["inspect", path.to_str().unwrap()]);
    assert_eq!(page["inputs"][0]["format"], "smolagents", "{page:#}");
    Some(frames::run_of(&SMOLAGENTS, &std::fs::read(path).unwrap()))
}

#[test]
fn the_real_tool_calling_agent_has_four_steps_and_no_outcome() {
    let Some(run) = real("toolcalling_full_steps.json") else { return };
    let expected = [
        ("get_weather", "!AgentToolExecutionError"),
        ("get_weathr", "!AgentToolExecutionError"),
        ("get_weather", "-"),
        ("final_answer", "-"),
    ];
    assert_eq!(frames::fates(&run), pairs(expected));
    assert_eq!(frames::tokens(&run), [400.0, 0.0, 0.0, 80.0]);
    assert_eq!((run.status, run.format_outcome), (None, None));
}

#[test]
fn the_real_code_agent_used_up_its_steps_and_failed() {
    for name in ["code_maxsteps_full_steps.json", "runresult_maxsteps.json"] {
        let Some(run) = real(name) else { return };
        let python = "python_interpreter";
        let expected = [
            (python, "!AgentExecutionError"),
            (python, "!AgentExecutionError"),
            ("-", "!AgentParsingError"),
            (python, "!AgentExecutionError"),
            ("-", "!AgentMaxStepsError"),
        ];
        assert_eq!(frames::fates(&run), pairs(expected));
        assert_eq!(run.format_outcome, Some(false));
        assert_eq!(run.end_reason.as_deref(), Some("AgentMaxStepsError"));
        assert_eq!(frames::delivered(&run)["output"], "Summary answer: max steps reached");
        assert_eq!(frames::tokens(&run), [500.0, 0.0, 0.0, 100.0]);
    }
}

#[test]
fn every_wrapping_is_told_by_its_contents() {
    let one = ("smolagents".to_owned(), 1);
    let result: Value = serde_json::from_slice(RESULT).unwrap();
    let steps = result["steps"].as_array().unwrap();
    assert_eq!(frames::taken_for(RESULT), one);
    assert_eq!(frames::taken_for(&frames::lines(steps)), one);
    assert_eq!(frames::taken_for(json!(steps).to_string().as_bytes()), one);
    assert_eq!(frames::taken_for(&frames::lines(&[result.clone(), result])).1, 2);
}

//! Each rule of `diagnose`: a trace that fires it, and one that nearly does and must not.

use crate::cli;
use crate::cli::{Folder, Ran, agenteval};
use agenteval::diagnose::RULES;
use agenteval::model::RULE_CODES;
use serde_json::{Value, json};

/// Where a finding must stand: run, step, attempt and subject.
type Place = (Option<&'static str>, Option<u64>, Option<u64>, Option<&'static str>);

/// Runs `diagnose` over these runs with this config.
fn diagnose(config: &Value, runs: &[Value], more: &[&str]) -> Ran {
    let folder = Folder::new();
    ran_in(&folder, config, runs, more)
}

fn ran_in(folder: &Folder, config: &Value, runs: &[Value], more: &[&str]) -> Ran {
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    let file = folder.file("runs.ndjson", lines);
    let config = folder.file("config.json", config.to_string());
    Ran::of(agenteval().args(["diagnose", &file, "-c", &config, "-q"]).args(more))
}

fn found(config: &Value, runs: &[Value]) -> Value {
    let ran = diagnose(config, runs, &["--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

fn of<'v>(answer: &'v Value, rule: &str) -> Vec<&'v Value> {
    answer["findings"].as_array().unwrap().iter().filter(|one| one["code"] == rule).collect()
}

/// One finding of the rule, and where; gives its evidence.
#[track_caller]
fn fires(rule: &str, config: &Value, runs: &[Value], place: Place) -> String {
    let answer = found(config, runs);
    let [one] = of(&answer, rule)[..] else { panic!("not one finding of {rule}: {answer:#}") };
    let here = (
        one["run"].as_str(),
        one["step"].as_u64(),
        one["attempt"].as_u64(),
        one["subject"].as_str(),
    );
    assert_eq!(here, place, "{one:#}");
    assert_eq!(answer["rules"][rule]["findings"], 1);
    assert!(answer["rules"][rule]["runs_affected"].as_u64() > Some(0), "{answer:#}");
    one["evidence"].as_str().unwrap().to_owned()
}

/// No finding, though the rule had what it needs.
#[track_caller]
fn misses(rule: &str, config: &Value, runs: &[Value]) {
    let answer = found(config, runs);
    assert!(of(&answer, rule).is_empty(), "{answer:#}");
    assert!(answer["rules"][rule]["runs_examined"].as_u64() > Some(0), "not asked: {answer:#}");
}

/// A run with these steps that completed.
fn run(id: &str, steps: &[Value]) -> Value {
    json!({"run_id": id, "task_id": "t", "status": "completed", "steps": steps})
}

/// A passed tool call.
fn ok(name: &str, input: Value) -> Value {
    json!({"type": "tool", "name": name, "status": "ok", "input": input})
}

/// A failed tool call.
fn bad(name: &str, input: Value, kind: &str) -> Value {
    json!({"type": "tool", "name": name, "status": "error", "input": input, "error": {"type": kind}})
}

fn gave(name: &str, input: Value, output: Value) -> Value {
    with(ok(name, input), json!({"output": output}))
}

/// A step with more fields.
fn with(mut step: Value, more: Value) -> Value {
    let Value::Object(more) = more else { unreachable!() };
    step.as_object_mut().unwrap().extend(more);
    step
}

/// The same step as an attempt of one.
fn attempt(number: u32, step: Value) -> Value {
    with(step, json!({"step_id": "s", "attempt": number}))
}

fn none() -> Value {
    json!({})
}

#[test]
fn the_codes_that_configs_may_name_are_those_of_the_rules() {
    let codes: Vec<&str> = RULES.iter().map(|rule| rule.code).collect();
    assert_eq!(codes, RULE_CODES);
}

#[test]
fn unsafe_retry_fires_where_a_mail_that_timed_out_is_sent_again() {
    let mail = json!({"to": "a@example.org"});
    let steps = [
        attempt(1, bad("send_email", mail.clone(), "timeout")),
        attempt(2, ok("send_email", mail)),
    ];
    let evidence = fires(
        "unsafe_retry",
        &none(),
        &[run("r", &steps)],
        (Some("r"), Some(1), Some(2), Some("send_email")),
    );
    assert!(evidence.contains("step 1 attempt 1 may have been done"), "{evidence}");
}

#[test]
fn unsafe_retry_fires_where_a_passed_refund_is_made_again_later() {
    let steps = [ok("refund", json!(1)), ok("look", json!(2)), ok("refund", json!(1))];
    let place = (Some("r"), Some(3), Some(1), Some("refund"));
    let evidence = fires("unsafe_retry", &none(), &[run("r", &steps)], place);
    assert!(evidence.contains("passed"), "{evidence}");
}

#[test]
fn unsafe_retry_is_quiet_where_the_first_call_was_surely_not_made() {
    let mail = json!({"to": "a"});
    for kind in ["invalid_address", "rate_limit", "connection refused"] {
        let steps = [
            attempt(1, bad("send_email", mail.clone(), kind)),
            attempt(2, ok("send_email", mail.clone())),
        ];
        misses("unsafe_retry", &none(), &[run("r", &steps)]);
    }
    let denied = with(ok("send_email", mail.clone()), json!({"status": "denied"}));
    misses("unsafe_retry", &none(), &[run("r", &[denied, ok("send_email", mail)])]);
}

#[test]
fn unsafe_retry_took_the_records_of_one_call_under_way_for_two_calls() {
    let mail = || ok("send_email", json!({"to": "a"}));
    let under = |status: &str| with(mail(), json!({"status": status}));
    let human = json!({"type": "approval", "status": "ok"});
    for steps in [
        vec![under("waiting_for_approval"), mail()],
        vec![under("waiting_for_approval"), human.clone(), ok("look", json!(1)), mail()],
        vec![under("pending"), human, under("running"), mail()],
    ] {
        misses("unsafe_retry", &none(), &[run("r", &steps)]);
    }
    // What came between may have been waited for in vain, and a request of its own is another one.
    let later = [under("running"), ok("look", json!(1)), mail()];
    fires(
        "unsafe_retry",
        &none(),
        &[run("r", &later)],
        (Some("r"), Some(3), Some(1), Some("send_email")),
    );
}

#[test]
fn unsafe_retry_knew_no_verb_of_a_name_in_camel_case() {
    for name in ["sendEmail", "bookFlight", "DeleteUser"] {
        let steps = [ok(name, json!(1)), ok("look", json!(2)), ok(name, json!(1))];
        fires(
            "unsafe_retry",
            &none(),
            &[run("r", &steps)],
            (Some("r"), Some(3), Some(1), Some(name)),
        );
    }
    let answer =
        found(&none(), &[run("r", &[ok("paymentStatus", json!(1)), ok("senderOf", json!(1))])]);
    assert_eq!(answer["rules"]["unsafe_retry"]["runs_examined"], 0);
}

#[test]
fn unsafe_retry_is_quiet_where_the_second_mail_goes_to_another() {
    let steps = [ok("send_email", json!({"to": "a"})), ok("send_email", json!({"to": "b"}))];
    misses("unsafe_retry", &none(), &[run("r", &steps)]);
}

#[test]
fn unsafe_retry_is_quiet_where_the_first_booking_was_cancelled() {
    let steps =
        [ok("book_flight", json!(1)), ok("cancel_flight", json!(2)), ok("book_flight", json!(1))];
    misses("unsafe_retry", &none(), &[run("r", &steps)]);
}

#[test]
fn unapproved_risk_fires_where_a_named_tool_runs_a_second_time_on_one_approval() {
    let config = json!({"side_effects": ["wire_*"]});
    let approval = json!({"type": "approval", "status": "ok"});
    let steps = [approval, ok("wire_money", json!(1)), ok("wire_money", json!(2))];
    let place = (Some("r"), Some(3), Some(1), Some("wire_money"));
    fires("unapproved_risk", &config, &[run("r", &steps)], place);
}

#[test]
fn unapproved_risk_is_quiet_where_each_call_has_its_approval() {
    let config = json!({"side_effects": ["wire_*"]});
    let approval = || json!({"type": "approval", "status": "ok"});
    let steps = [approval(), ok("wire_money", json!(1)), approval(), ok("wire_money", json!(2))];
    misses("unapproved_risk", &config, &[run("r", &steps)]);
}

#[test]
fn repeated_step_fires_where_a_search_comes_again_with_the_same_answer() {
    let steps = [
        gave("search", json!({"q": "x"}), json!("found 3")),
        ok("read", json!(1)),
        gave("search", json!({"q": "x"}), json!("found 3")),
    ];
    let place = (Some("r"), Some(3), Some(1), Some("search"));
    let evidence = fires("repeated_step", &none(), &[run("r", &steps)], place);
    assert!(evidence.starts_with("step 1 "), "{evidence}");
}

#[test]
fn repeated_step_is_quiet_where_the_answer_is_another_one_or_the_fault_is_another() {
    let twice = [ok("look", json!(0)), ok("refund", json!(1)), ok("refund", json!(1))];
    misses("repeated_step", &none(), &[run("r", &twice)]);
    let steps = [
        gave("search", json!({"q": "x"}), json!("found 3")),
        ok("read", json!(1)),
        gave("search", json!({"q": "x"}), json!("found 4")),
    ];
    misses("repeated_step", &none(), &[run("r", &steps)]);
}

#[test]
fn identical_retry_fires_where_the_same_wrong_input_fails_again() {
    let steps = [
        attempt(1, bad("query", json!({"sql": "x"}), "syntax_error")),
        attempt(2, bad("query", json!({"sql": "x"}), "syntax_error")),
    ];
    let place = (Some("r"), Some(1), Some(2), Some("query"));
    let evidence = fires("identical_retry", &none(), &[run("r", &steps)], place);
    assert!(evidence.contains("syntax_error"), "{evidence}");
}

#[test]
fn identical_retry_is_quiet_where_the_input_changes_or_waiting_may_mend_it() {
    let pair = |first: Value, second: Value| [run("r", &[attempt(1, first), attempt(2, second)])];
    let changed = pair(bad("q", json!(1), "syntax_error"), bad("q", json!(2), "syntax_error"));
    misses("identical_retry", &none(), &changed);
    let waited = pair(bad("q", json!(1), "rate_limit"), bad("q", json!(1), "rate_limit"));
    misses("identical_retry", &none(), &waited);
    let passed = pair(bad("q", json!(1), "syntax_error"), ok("q", json!(1)));
    misses("identical_retry", &none(), &passed);
}

#[test]
fn identical_retry_fires_where_digits_of_an_id_only_look_like_a_code() {
    let fails = |number| {
        attempt(
            number,
            with(bad("q", json!(1), "x"), json!({"error": {"message": "no order 14290"}})),
        )
    };
    let place = (Some("r"), Some(1), Some(2), Some("q"));
    fires("identical_retry", &none(), &[run("r", &[fails(1), fails(2)])], place);
}

#[test]
fn retry_storm_fires_where_a_step_has_one_attempt_more_than_the_limit() {
    let tries = |n: u32| -> Vec<Value> {
        (1..=n).map(|number| attempt(number, bad("fetch", json!(number), "http"))).collect()
    };
    let evidence = fires(
        "retry_storm",
        &none(),
        &[run("r", &tries(6))],
        (Some("r"), Some(1), None, Some("fetch")),
    );
    assert_eq!(evidence, "6 attempts of one step");
    misses("retry_storm", &none(), &[run("r", &tries(5))]);
}

#[test]
fn retry_storm_fires_where_one_tool_fails_on_and_on_in_steps_of_its_own() {
    let tries = |n: u32| -> Vec<Value> {
        (1..=n)
            .map(|at| {
                // Numbered by the source, so that they are steps of their own and no retries.
                let own = json!({"step_id": format!("s{at}"), "attempt": 1});
                with(bad("fetch", json!(at), "http"), own)
            })
            .collect()
    };
    let place = (Some("r"), Some(6), Some(1), Some("fetch"));
    let evidence = fires("retry_storm", &none(), &[run("r", &tries(6))], place);
    assert_eq!(evidence, "failed 6 times in a row");
    let mut broken = tries(6);
    broken.insert(3, ok("look", json!(0)));
    misses("retry_storm", &none(), &[run("r", &broken)]);
}

#[test]
fn oscillation_fires_where_two_actions_come_three_times_in_turn() {
    let steps: Vec<Value> =
        (0..6).map(|at| ok(["open", "close"][at % 2], json!({"door": 1}))).collect();
    let place = (Some("r"), Some(1), Some(1), Some("open"));
    let evidence = fires("oscillation", &none(), &[run("r", &steps)], place);
    assert!(evidence.starts_with("open, close come 3 times"), "{evidence}");
    misses("oscillation", &none(), &[run("r", &steps[..5])]);
}

#[test]
fn oscillation_fires_where_a_round_begins_with_the_same_action_twice() {
    let steps: Vec<Value> = (0..9).map(|at| ok(["a", "a", "b"][at % 3], json!(1))).collect();
    let place = (Some("r"), Some(1), Some(1), Some("a"));
    fires("oscillation", &none(), &[run("r", &steps)], place);
}

#[test]
fn oscillation_is_quiet_where_one_action_repeats_or_the_answers_change() {
    let same: Vec<Value> = (0..12).map(|_| ok("open", json!(1))).collect();
    misses("oscillation", &none(), &[run("r", &same)]);
    let polls: Vec<Value> = (0..6)
        .map(|at| gave(["status", "wait"][at % 2], json!(1), json!(format!("{at}% done"))))
        .collect();
    misses("oscillation", &none(), &[run("r", &polls)]);
}

#[test]
fn empty_reflection_fires_where_the_same_call_follows_a_thought() {
    let think = json!({"type": "reflection", "status": "ok"});
    let steps = [bad("query", json!(1), "syntax"), think.clone(), bad("query", json!(1), "syntax")];
    let answer = found(&none(), &[run("r", &steps)]);
    let [one] = of(&answer, "empty_reflection")[..] else { panic!("{answer:#}") };
    assert_eq!((&one["run"], &one["subject"]), (&json!("r"), &json!("query")));
    let changed = [bad("query", json!(1), "syntax"), think, bad("query", json!(2), "syntax")];
    misses("empty_reflection", &none(), &[run("r", &changed)]);
}

#[test]
fn ignored_error_fires_where_the_run_goes_on_with_another_tool() {
    let steps = [bad("load_invoice", json!(1), "not_found"), ok("create_task", json!(2))];
    let place = (Some("r"), Some(1), Some(1), Some("load_invoice"));
    let evidence = fires("ignored_error", &none(), &[run("r", &steps)], place);
    assert!(evidence.contains("went on with create_task"), "{evidence}");
}

#[test]
fn ignored_error_is_quiet_where_the_failure_is_answered() {
    let failed = || bad("find_user_by_email", json!(1), "not_found");
    for next in [
        vec![ok("ask_user", json!(1))],
        vec![ok("find_user_by_name", json!(1))],
        vec![json!({"type": "human", "name": "desk", "status": "ok"})],
        vec![ok("look", json!(1)), ok("find_user_by_email", json!(2))],
    ] {
        let steps: Vec<Value> = std::iter::once(failed()).chain(next).collect();
        misses("ignored_error", &none(), &[run("r", &steps)]);
    }
}

#[test]
fn ignored_error_took_a_turn_of_the_model_for_going_on() {
    let turn = json!({"type": "llm", "status": "ok"});
    let config = json!({"steps": "all"});
    let failed = bad("load_invoice", json!(1), "not_found");
    let asks = [failed.clone(), turn.clone(), ok("ask_user", json!(1))];
    misses("ignored_error", &config, &[run("r", &asks)]);
    misses("ignored_error", &config, &[run("r", &[failed.clone(), turn.clone()])]);
    let goes_on = [failed, turn, ok("create_task", json!(2))];
    let place = (Some("r"), Some(1), Some(1), Some("load_invoice"));
    let evidence = fires("ignored_error", &config, &[run("r", &goes_on)], place);
    assert!(evidence.contains("create_task"), "{evidence}");
}

#[test]
fn ignored_error_took_parts_of_words_for_an_answer() {
    for next in ["handle_order", "book_plane", "task_list", "planetary_data"] {
        let steps = [bad("load_invoice", json!(1), "not_found"), ok(next, json!(2))];
        let place = (Some("r"), Some(1), Some(1), Some("load_invoice"));
        fires("ignored_error", &none(), &[run("r", &steps)], place);
    }
    let steps = [bad("load_invoice", json!(1), "not_found"), ok("askUser", json!(2))];
    misses("ignored_error", &none(), &[run("r", &steps)]);
}

#[test]
fn rules_of_what_comes_after_another_are_quiet_where_the_order_of_steps_is_unknown() {
    let folder = Folder::new();
    for at in 0..8 {
        let node = json!({
            "node_id": format!("n{at}"), "name": "fetch", "status": "failed", "attempts": 1,
            "tokens": {"input": 100 * (1 + at), "output": 0},
        });
        folder.file(&format!("nodes/{at}.json"), node.to_string());
    }
    let (nodes, config) = (folder.at("nodes"), folder.file("config.json", "{}"));
    let args = ["diagnose", &nodes, "-c", &config, "-q", "--output", "json"];
    let answer = Ran::of(agenteval().args(args)).json();
    assert_eq!(answer["runs"], 1);
    for rule in ["growing_tokens", "retry_storm"] {
        assert!(of(&answer, rule).is_empty(), "{answer:#}");
    }
    assert_eq!(answer["rules"]["growing_tokens"]["runs_examined"], 0);
    // Eight steps of one tool, so the part that goes by steps alone is still asked.
    assert_eq!(answer["rules"]["retry_storm"]["runs_examined"], 1);
}

#[test]
fn ignored_error_is_quiet_where_the_order_of_steps_is_unknown() {
    let folder = Folder::new();
    for (node, status) in [("draft", "failed"), ("fetch", "completed"), ("sum", "completed")] {
        let node_file = json!({"node_id": node, "status": status, "attempts": 1});
        folder.file(&format!("nodes/{node}.json"), node_file.to_string());
    }
    let (nodes, config) = (folder.at("nodes"), folder.file("config.json", "{}"));
    let args = ["diagnose", &nodes, "-c", &config, "-q", "--output", "json"];
    let answer = Ran::of(agenteval().args(args)).json();
    assert_eq!(answer["runs"], 1);
    assert!(of(&answer, "ignored_error").is_empty(), "{answer:#}");
}

/// A run that ended at its limit of steps.
fn limited(steps: &[Value]) -> Value {
    with(run("r", steps), json!({"status": "failed", "end_reason": "max_steps"}))
}

#[test]
fn no_end_condition_fires_where_half_of_the_last_actions_had_been_there() {
    let repeats: Vec<Value> = [1, 2, 3, 1, 2, 3].iter().map(|q| ok("search", json!(q))).collect();
    let place = (Some("r"), Some(6), Some(1), Some("search"));
    let evidence = fires("no_end_condition", &none(), &[limited(&repeats)], place);
    assert!(evidence.starts_with("3 of the last 6 actions"), "{evidence}");
}

#[test]
fn no_end_condition_is_quiet_where_the_last_actions_are_new_or_no_limit_ended_the_run() {
    let fresh: Vec<Value> = [1, 2, 3, 4, 1, 2].iter().map(|q| ok("search", json!(q))).collect();
    misses("no_end_condition", &none(), &[limited(&fresh)]);
    let repeats: Vec<Value> = [1, 2, 3, 1, 2, 3].iter().map(|q| ok("search", json!(q))).collect();
    let throttled =
        with(run("r", &repeats), json!({"status": "failed", "end_reason": "rate limit exceeded"}));
    let answer = found(&none(), &[throttled]);
    assert!(of(&answer, "no_end_condition").is_empty(), "{answer:#}");
}

#[test]
fn no_end_condition_called_one_tool_without_recorded_inputs_a_repetition() {
    let bare: Vec<Value> =
        (0..6).map(|_| json!({"type": "tool", "name": "search", "status": "ok"})).collect();
    let answer = found(&none(), &[limited(&bare)]);
    assert!(of(&answer, "no_end_condition").is_empty(), "{answer:#}");
    assert_eq!(answer["rules"]["no_end_condition"]["runs_examined"], 0);
}

#[test]
fn findings_that_are_only_counted_were_promised_in_json() {
    let steps: Vec<Value> =
        (0..25).flat_map(|_| [ok("refund", json!(1)), ok("look", json!(2))]).collect();
    let runs = [run("r", &steps)];
    let out = diagnose(&none(), &runs, &[]).out;
    // 24 sendings again: 20 are kept, of which 5 are shown.
    assert!(out.contains("  15 more in --output json\n"), "{out}");
    assert!(out.contains("  4 more are only counted"), "{out}");
    assert_eq!(of(&found(&none(), &runs), "unsafe_retry").len(), 20);
}

fn plan(output: Value) -> Value {
    json!({"type": "plan", "status": "ok", "output": output})
}

#[test]
fn goal_lost_fires_where_a_constraint_of_the_first_plan_changes() {
    let first = plan(json!({"goal": "fly", "constraints": {"max_price": 300}}));
    let later = plan(json!({"constraints": {"max_price": 500}}));
    let place = (Some("r"), Some(3), Some(1), Some("plan"));
    let steps = [first, ok("search", json!(1)), later];
    let evidence = fires("goal_lost", &none(), &[run("r", &steps)], place);
    assert_eq!(evidence, "`constraints.max_price` has another value");
}

#[test]
fn goal_lost_printed_values_of_constraints_that_nobody_asked_for() {
    let first = plan(json!({"constraints": {"patient": "Ann Example"}}));
    let later = plan(json!({"constraints": {"patient": "Bob Example"}}));
    let runs = [run("r", &[first, later])];
    let plain = diagnose(&none(), &runs, &["--output", "json"]).out;
    assert!(plain.contains("constraints.patient") && !plain.contains("Example"), "{plain}");
    let asked = diagnose(&none(), &runs, &["--output", "json", "--include-content"]).json();
    let [one] = of(&asked, "goal_lost")[..] else { panic!("{asked:#}") };
    let evidence = "`constraints.patient` was \"Ann Example\" and became \"Bob Example\"";
    assert_eq!(one["evidence"], evidence);
}

#[test]
fn goal_lost_fires_where_the_result_has_another_goal() {
    let steps = [plan(json!({"goal": "fly to Rome"}))];
    let run = with(run("r", &steps), json!({"final": {"goal": "fly to Oslo"}}));
    fires("goal_lost", &none(), &[run], (Some("r"), None, None, Some("final")));
}

#[test]
fn goal_lost_is_quiet_where_only_order_of_keys_steps_and_counters_change() {
    let first = plan(json!({"constraints": {"a": 1, "b": 2}, "budget": {"total": 9, "left": 9}}));
    let mut later = first.clone();
    later["output"] = json!({
        "budget": {"left": 2, "total": 9}, "constraints": {"b": 2, "a": 1}, "steps": ["pay"]
    });
    misses("goal_lost", &none(), &[run("r", &[first, later])]);
}

/// Twenty calls of one tool in twenty runs, the last `others` with this output.
fn twenty(others: usize, last: Value) -> Vec<Value> {
    (0..20)
        .map(|at| {
            let other = at >= 20 - others;
            let output = if other { last.clone() } else { json!({"price": at, "unit": "EUR"}) };
            run(&format!("r{at}"), &[gave("quote", json!(at), output)])
        })
        .collect()
}

#[test]
fn output_shape_changed_fires_where_a_number_becomes_text() {
    let place = (Some("r19"), Some(1), Some(1), Some("quote"));
    let runs = twenty(1, json!({"price": "12 EUR", "unit": "EUR"}));
    let evidence = fires("output_shape_changed", &none(), &runs, place);
    assert_eq!(evidence, "`price` is text; in 19 of 20 calls `price` is a number");
}

#[test]
fn output_shape_changed_is_quiet_about_nulls_new_keys_and_too_few_calls() {
    let more = twenty(1, json!({"price": 1, "unit": null, "discount": 2}));
    misses("output_shape_changed", &none(), &more);
    let few = &twenty(1, json!({"other": 1}))[1..];
    let answer = found(&none(), few);
    assert!(of(&answer, "output_shape_changed").is_empty(), "{answer:#}");
}

#[test]
fn output_shape_changed_called_an_optional_key_a_new_shape() {
    misses("output_shape_changed", &none(), &twenty(2, json!({"price": 1})));
}

#[test]
fn output_shape_changed_called_an_output_of_many_keys_no_object() {
    let wide: serde_json::Map<String, Value> =
        (0..60).map(|at| (format!("key_{at}"), json!(at))).collect();
    let mut wide = Value::Object(wide);
    wide["price"] = json!(1);
    wide["unit"] = json!("EUR");
    let mut runs = twenty(0, none());
    runs.push(run("wide", &[gave("quote", json!(99), wide)]));
    misses("output_shape_changed", &none(), &runs);
}

/// Diagnoses one run beside this schema of the tool `quote`.
fn against_schema(schema: &str, output: Value, more: &[&str]) -> Ran {
    let folder = Folder::new();
    folder.file("schemas/quote.json", schema);
    let config = json!({"tool_schemas": {"quote": "schemas/quote.json"}});
    let runs = [run("r", &[ok("look", json!(1)), gave("quote", json!(1), output)])];
    ran_in(&folder, &config, &runs, more)
}

const QUOTE: &str =
    r#"{"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}"#;

#[test]
fn output_breaks_schema_fires_where_a_price_is_text() {
    let ran = against_schema(QUOTE, json!({"price": "12"}), &["--output", "json"]);
    let answer = ran.json();
    let [one] = of(&answer, "output_breaks_schema")[..] else { panic!("{answer:#}") };
    assert_eq!(one["run"], "r");
    assert_eq!((&one["step"], &one["attempt"]), (&json!(2), &json!(1)));
    assert_eq!(one["subject"], "quote");
    assert_eq!(one["evidence"], "at `/price`: value is not of type \"number\"");
    let seen = &answer["rules"]["output_breaks_schema"];
    assert_eq!((&seen["runs_examined"], &seen["runs_affected"]), (&json!(1), &json!(1)));
}

#[test]
fn output_breaks_schema_is_quiet_where_it_holds_also_inside_a_text() {
    for output in [json!({"price": 12, "more": 1}), json!("{\"price\": 12}")] {
        let answer = against_schema(QUOTE, output, &["--output", "json"]).json();
        assert!(of(&answer, "output_breaks_schema").is_empty(), "{answer:#}");
        assert_eq!(answer["rules"]["output_breaks_schema"]["runs_examined"], 1);
    }
}

#[test]
fn a_schema_that_is_missing_broken_or_refers_elsewhere_is_an_error_that_names_the_file() {
    let config = json!({"tool_schemas": {"quote": "schemas/gone.json"}});
    let runs = [run("r", &[ok("quote", json!(1))])];
    diagnose(&config, &runs, &[]).refused(2, &["gone.json", "`quote`", "cannot be read"]);
    for (schema, part) in [
        ("{", "is no JSON"),
        (r#"{"type": "nonsense"}"#, "is no schema"),
        (r#"{"$ref": "https://example.org/s.json"}"#, "must be in the same file"),
        (r#"{"$ref": "other.json"}"#, "must be in the same file"),
    ] {
        let ran = against_schema(schema, json!({"price": 1}), &[]);
        ran.refused(2, &["quote.json", part]);
    }
}

#[test]
fn a_result_is_not_written_over_a_schema() {
    let folder = Folder::new();
    let schema = folder.file("quote.json", QUOTE);
    let config = json!({"tool_schemas": {"quote": "quote.json"}});
    let runs = [run("r", &[ok("quote", json!(1))])];
    ran_in(&folder, &config, &runs, &["-o", &schema]).refused(2, &["is read by the same command"]);
    assert_eq!(std::fs::read_to_string(schema).unwrap(), QUOTE);
}

#[test]
fn contradictory_record_fires_where_a_timeout_was_measured_at_no_time() {
    let fault = json!({"type": "timeout", "message": "no answer after 30000 ms"});
    let step = with(bad("fetch", json!(1), "x"), json!({"error": fault, "duration_ms": 120}));
    let place = (Some("r"), Some(1), Some(1), Some("fetch"));
    let evidence =
        fires("contradictory_record", &none(), &[run("r", std::slice::from_ref(&step))], place);
    assert!(evidence.contains("30 s by its message"), "{evidence}");
    let right = with(step, json!({"duration_ms": 30_020}));
    misses("contradictory_record", &none(), &[run("r", &[right])]);
}

#[test]
fn contradictory_record_fires_where_status_and_success_differ() {
    let run = |status: &str, success: bool| {
        let steps = [ok("a", json!(1))];
        with(run("r", &steps), json!({"status": status, "success": success}))
    };
    let place = (Some("r"), None, None, Some("status"));
    fires("contradictory_record", &none(), &[run("failed", true)], place);
    fires("contradictory_record", &none(), &[run("succeeded", false)], place);
    // It may have come to its end without having done what it should.
    misses("contradictory_record", &none(), &[run("completed", false)]);
}

#[test]
fn contradictory_record_fires_where_an_end_is_before_its_start() {
    let times = |end: &str| json!({"started_at": "2026-01-01T00:00:10Z", "ended_at": end});
    let step = with(ok("a", json!(1)), times("2026-01-01T00:00:09Z"));
    let place = (Some("r"), Some(1), Some(1), Some("a"));
    fires("contradictory_record", &none(), &[run("r", &[step])], place);
    let step = with(ok("a", json!(1)), times("2026-01-01T00:00:10Z"));
    misses("contradictory_record", &none(), &[run("r", &[step])]);
}

/// Runs of two tools; in the first `broken` of them the second tool fails and the run with it.
fn links(runs: usize, broken: usize) -> Vec<Value> {
    (0..runs)
        .map(|at| {
            let fails = at < broken;
            let last =
                if fails { bad("pay_bill", json!(at), "x") } else { ok("pay_bill", json!(at)) };
            let status = if fails { "failed" } else { "completed" };
            with(run(&format!("r{at}"), &[ok("find", json!(at)), last]), json!({"status": status}))
        })
        .collect()
}

#[test]
fn weakest_link_fires_where_a_tool_of_twenty_runs_fails_in_four() {
    let place = (None, None, None, Some("pay_bill"));
    let evidence = fires("weakest_link", &none(), &links(20, 4), place);
    assert!(evidence.starts_with("16 of 20 steps pass in the end (80.0%, at most 9"), "{evidence}");
    let ends = "; 0/4 (0.0%) runs in which it fails are completed, 16/16 (100.0%) of the others that reach it";
    assert!(evidence.ends_with(ends), "{evidence}");
}

#[test]
fn weakest_link_is_quiet_where_nineteen_of_twenty_pass() {
    misses("weakest_link", &none(), &links(20, 1));
}

#[test]
fn weakest_link_fired_on_one_failure_of_ten_which_is_noise() {
    misses("weakest_link", &none(), &links(10, 1));
}

#[test]
fn weakest_link_counted_runs_that_never_reach_the_link() {
    let mut runs = links(20, 4);
    runs.extend((0..30).map(|at| run(&format!("other{at}"), &[ok("find", json!(at))])));
    // One that has not ended tells neither of the tool nor of its end.
    let last = bad("pay_bill", json!(1), "x");
    runs.push(with(run("open", &[last]), json!({"status": "running"})));
    let answer = found(&none(), &runs);
    let seen = &answer["rules"]["weakest_link"];
    assert_eq!((&seen["runs_examined"], &seen["runs_affected"]), (&json!(20), &json!(4)));
}

/// Runs whose steps all pass; the first `lost` of them fail all the same.
fn good_steps(runs: usize, lost: usize) -> Vec<Value> {
    (0..runs)
        .map(|at| {
            let status = if at < lost { "failed" } else { "completed" };
            with(run(&format!("r{at}"), &[ok("a", json!(at))]), json!({"status": status}))
        })
        .collect()
}

#[test]
fn good_steps_bad_end_fires_where_six_of_ten_runs_fail_with_passed_steps() {
    let place = (None, None, None, None);
    // Wilson's interval of 3 of 10, with t of 9 degrees of freedom and 9 effective runs, ends at 66%.
    let evidence = fires("good_steps_bad_end", &none(), &good_steps(10, 7), place);
    assert!(evidence.starts_with("100.0% of 10 attempts pass, but 3 of 10 runs"), "{evidence}");
}

#[test]
fn good_steps_bad_end_is_quiet_where_completion_may_be_seventy_percent() {
    // Of 5 of 10 the interval ends at 76%.
    misses("good_steps_bad_end", &none(), &good_steps(10, 5));
}

#[test]
fn good_steps_bad_end_took_runs_of_one_hard_task_for_thirty_tasks() {
    let mut runs = good_steps(30, 25);
    for (at, run) in runs.iter_mut().enumerate() {
        run["task_id"] = json!(if at < 25 { "hard" } else { "easy" });
    }
    misses("good_steps_bad_end", &none(), &runs);
    for (at, run) in runs.iter_mut().enumerate() {
        run["task_id"] = json!(format!("t{at}"));
    }
    fires("good_steps_bad_end", &none(), &runs, (None, None, None, None));
}

/// A run whose turns use these tokens.
fn turns(tokens: &[u32]) -> Value {
    let step = |(at, tokens): (usize, &u32)| {
        with(ok("llm", json!(at)), json!({"tokens": {"input": tokens, "output": 0}}))
    };
    run("r", &tokens.iter().enumerate().map(step).collect::<Vec<_>>())
}

#[test]
fn growing_tokens_fires_where_the_last_third_uses_three_times_the_first() {
    let place = (Some("r"), None, None, Some("tokens"));
    let grown = turns(&[100, 100, 200, 200, 300, 300]);
    let evidence = fires("growing_tokens", &none(), &[grown], place);
    assert_eq!(evidence, "from 100 to 300 tokens a request over 6 requests");
}

#[test]
fn growing_tokens_is_quiet_where_growth_is_less_or_only_at_the_end() {
    misses("growing_tokens", &none(), &[turns(&[100, 100, 200, 200, 290, 290])]);
    misses("growing_tokens", &none(), &[turns(&[100, 100, 100, 100, 900, 900])]);
}

/// Pairs of runs that cost these dollars; the second of each fails.
fn costs(pairs: usize, completed: f64, failed: f64) -> Vec<Value> {
    let run = |id: String, status: &str, cost: f64| {
        let step = with(ok("a", json!(1)), json!({"cost_usd": cost}));
        with(run(&id, &[step]), json!({"status": status}))
    };
    let pair = |at| {
        let passed = run(format!("a{at}"), "completed", completed);
        [passed, run(format!("b{at}"), "failed", failed)]
    };
    (0..pairs).flat_map(pair).collect()
}

#[test]
fn failed_cost_fires_where_six_tenths_of_the_dollars_are_lost_in_twenty_runs() {
    let evidence =
        fires("failed_cost", &none(), &costs(10, 0.04, 0.06), (None, None, None, Some("usd")));
    // By runs: 20 parts of 0.024 off the mean, so an error of sqrt(20 / 19 * 20 * 0.024^2) = 0.1101,
    // and 2.093 times that on each side.
    let wanted = "10 of 20 runs are not completed and used 60.0% of all usd (95% interval over tasks 37.0% to 83.0%)";
    assert_eq!(evidence, wanted);
    misses("failed_cost", &none(), &costs(10, 0.06, 0.04));
}

#[test]
fn failed_cost_fired_on_two_runs() {
    let answer = found(&none(), &costs(1, 0.4, 0.6));
    assert!(of(&answer, "failed_cost").is_empty(), "{answer:#}");
    assert_eq!(answer["rules"]["failed_cost"]["runs_examined"], 0);
}

#[test]
fn failed_cost_took_the_dollars_of_a_few_runs_for_the_cost_of_all() {
    // Ten failed runs tell dollars; all fifty tell seconds, of which few are lost.
    let mut runs = costs(5, 0.1, 5.0);
    runs.extend((0..40).map(|at| run(&format!("c{at}"), &[ok("a", json!(at))])));
    for run in &mut runs {
        run["steps"][0]["duration_ms"] = json!(1000);
        run["duration_seconds"] = json!(1.0);
    }
    let answer = found(&none(), &runs);
    assert!(of(&answer, "failed_cost").is_empty(), "{answer:#}");
}

#[test]
fn missing_fields_fires_once_for_a_field_that_most_attempts_lack() {
    let full = || with(ok("a", json!(1)), json!({"duration_ms": 5}));
    let bare = || json!({"type": "tool", "name": "a", "status": "ok", "duration_ms": 5});
    let place = (None, None, None, Some("input"));
    let runs = [run("r", &[full(), bare(), bare()]), run("s", &[full()])];
    let answer = found(&none(), &runs);
    assert!(of(&answer, "missing_fields").is_empty(), "2 of 4 is the limit: {answer:#}");
    let runs = [run("r", &[full(), bare(), bare(), bare()]), run("s", &[full()])];
    let evidence = fires("missing_fields", &none(), &runs, place);
    assert!(evidence.starts_with("3 of 5 attempts have none"), "{evidence}");
    assert_eq!(found(&none(), &runs)["rules"]["missing_fields"]["runs_affected"], 1);
}

#[test]
fn the_config_sets_level_and_limit_and_turns_rules_off() {
    let runs = [run("r", &[ok("refund", json!(1)), ok("look", json!(2)), ok("refund", json!(1))])];
    let config = |rule: Value| json!({"diagnose": rule});
    let answer = found(&config(json!({"unsafe_retry": {"level": "off"}})), &runs);
    assert!(answer["rules"]["unsafe_retry"].is_null(), "{answer:#}");
    assert!(of(&answer, "unsafe_retry").is_empty());
    let answer = found(&config(json!({"unsafe_retry": {"level": "note"}})), &runs);
    assert_eq!(of(&answer, "unsafe_retry")[0]["level"], "note");
    let tries: Vec<Value> = (1..=3).map(|n| attempt(n, bad("f", json!(n), "x"))).collect();
    let answer = found(&config(json!({"retry_storm": {"limit": 2}})), &[run("r", &tries)]);
    assert_eq!(of(&answer, "retry_storm").len(), 1, "{answer:#}");
    diagnose(&config(json!({"retry_strom": {}})), &runs, &[])
        .refused(2, &["unknown rule `retry_strom`", "did you mean `retry_storm`?"]);
    diagnose(&config(json!({"retry_storm": {"limit": -1}})), &runs, &[])
        .refused(2, &["the limit of a rule"]);
}

#[test]
fn deny_fails_where_a_named_rule_finds_and_allow_takes_rules_out() {
    let runs = [run("r", &[ok("refund", json!(1)), ok("look", json!(2)), ok("refund", json!(1))])];
    let code = |config: &Value, more: &[&str]| diagnose(config, &runs, more).code;
    assert_eq!(code(&none(), &[]), 0);
    assert_eq!(code(&none(), &["--deny", "unsafe_retry"]), 1);
    assert_eq!(code(&none(), &["--deny", "retry_storm"]), 0);
    assert_eq!(code(&none(), &["--deny", "error"]), 1);
    assert_eq!(code(&none(), &["--deny", "error", "--allow", "unsafe_retry"]), 0);
    let gentle = json!({"diagnose": {"unsafe_retry": {"level": "note"}}});
    assert_eq!(code(&gentle, &["--deny", "error"]), 0, "the level of the config holds");
    diagnose(&none(), &runs, &["--deny", "unsafe_rety"])
        .refused(2, &["unknown rule `unsafe_rety`; did you mean `unsafe_retry`?"]);
}

/// A run whose names and texts a terminal would obey, or hold a secret.
fn hostile() -> (String, Vec<Value>) {
    // Put together here, so that no scanner takes this file for a leak.
    let secret = format!("sk-proj-{}", "Ab1".repeat(14));
    let name = format!("refund\u{1b}[2J {secret}");
    let first = plan(json!({"goal": format!("use {secret}")}));
    let steps = [
        first,
        ok(&name, json!(1)),
        ok("look", json!(2)),
        ok(&name, json!(1)),
        plan(json!({"goal": "\u{1b}[31mnothing\u{202e}"})),
    ];
    let run = with(run("r", &steps), json!({"run_id": format!("id\u{1b}]0;x\u{7} {secret}")}));
    (secret, vec![run])
}

#[test]
fn hostile_texts_are_escaped_and_secrets_masked_in_every_form() {
    let (secret, runs) = hostile();
    let answer = found(&none(), &runs);
    assert_eq!(of(&answer, "unsafe_retry").len(), 1, "the trace is what it should be: {answer:#}");
    assert_eq!(of(&answer, "goal_lost").len(), 1, "{answer:#}");
    for form in ["table", "markdown", "json", "sarif"] {
        let out = diagnose(&none(), &runs, &["--output", form]).out;
        assert!(out.contains("masked"), "{form}: {out}");
        assert!(!out.contains(&secret[..20]), "{form}: {out}");
        assert!(!out.contains(['\u{1b}', '\u{7}']), "{form}: {out:?}");
        // JSON has texts as they are, as far as that is safe for a terminal to hold.
        assert!(form == "json" || !out.contains('\u{202e}'), "{form}: {out:?}");
    }
}

#[test]
fn sarif_has_rules_levels_places_and_fingerprints_that_stay() {
    let runs = [run("r", &[ok("refund", json!(1)), ok("look", json!(2)), ok("refund", json!(1))])];
    let written = diagnose(&none(), &runs, &["--output", "sarif"]).out;
    let sarif: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let log = &sarif["runs"][0];
    let rules = log["tool"]["driver"]["rules"].as_array().unwrap();
    let results = log["results"].as_array().unwrap();
    let mut prints = std::collections::BTreeSet::new();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 1);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let print = result["partialFingerprints"]["agentevalFinding/v1"].as_str().unwrap();
        assert!(prints.insert(print), "{result:#}");
    }
    let retry = results.iter().find(|one| one["ruleId"] == "unsafe_retry").unwrap();
    assert_eq!(retry["level"], "error");
    let place = &retry["locations"][0];
    let uri = place["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/runs.ndjson"), "{uri}");
    assert_eq!(place["logicalLocations"][0]["name"], "refund");
}

/// An agent that tells its user of the failure, and goes on with what the user then asks for, has
/// passed over nothing.
#[test]
fn ignored_error_took_a_failure_that_the_user_was_told_of_for_ignored() {
    let call = |id: &str, name: &str| json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let told = json!({"role": "assistant", "content": "There are no seats left. What shall I do?"});
    let asked = json!({"role": "user", "content": "Cancel it, please."});
    let failed = [call("a", "change_seats"), result("a", "Error: no seats left")];
    let next = [call("b", "cancel_order"), result("b", "done")];
    let quiet = [failed.as_slice(), &[told, asked], &next].concat();
    misses("ignored_error", &none(), &[json!({"messages": quiet})]);
    let silent = [failed.as_slice(), &next].concat();
    let folder = Folder::new();
    let file = folder.file("m.json", json!({"messages": silent}).to_string());
    let found = cli::run(&["diagnose", &file, "-q", "--output", "json"]).json();
    assert_eq!(found["rules"]["ignored_error"]["findings"], 1, "{found}");
}

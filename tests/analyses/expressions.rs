//! What expressions mean over recorded data, and that no expression or data can break them.

use std::sync::Arc;

use agenteval::expr::{
    Evaluator, Field, FieldPath, Fields, Finding, Observations, Program, Root, Segment, State,
    json_field, json_keys,
};
use proptest::prelude::*;

/// One object as JSON text, or none.
struct Recorded {
    root: Root,
    json: Option<String>,
}

impl Fields for Recorded {
    fn get<'a>(&'a self, path: &FieldPath) -> Field<'a> {
        match &self.json {
            Some(json) if path.root == self.root => json_field(json, &path.segments),
            _ => Field::Missing,
        }
    }
    fn root_present(&self, root: Root) -> bool {
        root == self.root && self.json.as_deref().is_some_and(|json| json != "null")
    }
    fn keys(&self, root: Root, segments: &[Segment], visit: &mut dyn FnMut(&str)) {
        if let Some(json) = self.json.as_deref().filter(|_| root == self.root) {
            json_keys(json, segments, visit);
        }
    }
}

fn recorded(json: &str) -> Recorded {
    let json = (!json.is_empty()).then(|| json.to_owned());
    Recorded { root: Root::Final, json }
}

fn program(source: &str) -> Arc<Program> {
    match Program::compile(source, &[Root::Final, Root::Run]) {
        Ok(program) => Arc::new(program),
        Err(error) => panic!("{}", error.render(source, "test")),
    }
}

/// Evaluates over each object in turn.
fn over(source: &str, objects: &[&str]) -> (Vec<bool>, Observations, Arc<Program>) {
    let program = program(source);
    let mut evaluator = Evaluator::new(Arc::clone(&program));
    let verdicts = objects.iter().map(|json| evaluator.eval(&recorded(json))).collect();
    (verdicts, evaluator.take_observations(), program)
}

/// `t` holds, `f` does not, `u` could not be evaluated.
fn verdict(source: &str, json: &str) -> char {
    let (verdicts, seen, _) = over(source, &[json]);
    match (verdicts[0], seen.unevaluable) {
        (true, 0) => 't',
        (false, 0) => 'f',
        (false, 1) => 'u',
        other => panic!("{source} over {json}: {other:?}"),
    }
}

#[test]
fn expressions_mean_what_the_table_says() {
    let table: &[(&str, &str, char)] = &[
        // Missing, null and has.
        ("final.error == null", r#"{"a": 1}"#, 't'),
        ("final.error == null", r#"{"error": null}"#, 't'),
        ("final.error == null", r#"{"error": {}}"#, 'f'),
        ("null != final.error", r#"{"error": ""}"#, 't'),
        ("final.error == null", "", 't'),
        ("final.report != null && final.accuracy >= 0.9", "", 'f'),
        ("final.report != null && final.accuracy >= 0.9", "null", 'f'),
        (
            "final.report != null && final.accuracy >= 0.9",
            r#"{"report": "x", "accuracy": 0.93}"#,
            't',
        ),
        ("final.report != null && final.accuracy >= 0.9", r#"{"report": "x", "accuracy": 1}"#, 't'),
        ("final.report != null && final.accuracy >= 0.9", r#"{"report": "x"}"#, 'u'),
        (
            "final.report != null && final.accuracy >= 0.9",
            r#"{"report": "x", "accuracy": "0.95"}"#,
            'u',
        ),
        ("has(final.report)", r#"{"report": null}"#, 't'),
        ("has(final.report)", r#"{"other": null}"#, 'f'),
        ("has(final.report.pages)", r#"{"report": "text"}"#, 'f'),
        ("has(final.report)", "", 'f'),
        ("!has(final.report) || final.report == null", r#"{"report": null}"#, 't'),
        ("final == null", "", 't'),
        ("final == null", "{}", 'f'),
        ("final.a.b.c == null", r#"{"a": 3}"#, 't'),
        // Numbers.
        ("final.n == 1", r#"{"n": 1.0}"#, 't'),
        ("final.n == 1.0", r#"{"n": 1}"#, 't'),
        ("final.n != 1", r#"{"n": 1.0}"#, 'f'),
        ("final.n < 1.5", r#"{"n": 1}"#, 't'),
        ("final.n > 1", r#"{"n": 1.5}"#, 't'),
        ("final.n / 1000.0 > 5", r#"{"n": 5500}"#, 't'),
        ("final.n / 1000 > 5", r#"{"n": 5500}"#, 't'),
        ("final.n / 1000 > 5", r#"{"n": 5500.0}"#, 't'),
        ("final.n / 1000 == 5", r#"{"n": 5000}"#, 't'),
        ("final.n * 2 + 0.5 == 6.5", r#"{"n": 3}"#, 't'),
        ("1 - final.n <= 0.1", r#"{"n": 0.95}"#, 't'),
        ("final.n % 2 == 1", r#"{"n": 3.0}"#, 't'),
        ("-final.n < 0", r#"{"n": 0.5}"#, 't'),
        ("final.n / final.m > 0", r#"{"n": 1, "m": 0}"#, 'u'),
        ("final.n / final.m > 0", r#"{"n": 1, "m": 0.0}"#, 'u'),
        ("final.n + 1 > 0", r#"{"n": 9223372036854775807}"#, 't'),
        ("final.n > 9223372036854775807", r#"{"n": 18446744073709551615}"#, 't'),
        ("final.n > 1e300", r#"{"n": 123456789012345678901234567890}"#, 'f'),
        ("final.n + 1 > 0", r#"{"n": null}"#, 'u'),
        ("final.n >= 0.9", r#"{"n": null}"#, 'u'),
        // NaN passes nothing.
        ("final.n >= 0.9", "{\"n\": \"\u{E000}NaN\"}", 'u'),
        ("final.n < 0.9", "{\"n\": \"\u{E000}NaN\"}", 'u'),
        ("!(final.n < 0.9)", "{\"n\": \"\u{E000}NaN\"}", 'u'),
        ("final.n == final.n", "{\"n\": \"\\ue000NaN\"}", 'f'),
        ("final.n > 1e308", "{\"n\": \"\u{E000}Infinity\"}", 't'),
        ("final.n < -1e308", "{\"n\": \"\u{E000}-Infinity\"}", 't'),
        // Text.
        ("final.s == 'caf\u{e9}'", r#"{"s": "caf\u00e9"}"#, 't'),
        ("final.s == 1", r#"{"s": "1"}"#, 'f'),
        ("final.s < 'b'", r#"{"s": "a"}"#, 't'),
        (
            "final.s.startsWith('re') && final.s.endsWith('d') && final.s.contains('fun')",
            r#"{"s": "refund"}"#,
            't',
        ),
        ("final.s.matches(r'^\\d+$')", r#"{"s": "123"}"#, 't'),
        (r"final.s.matches(r'^\d+$')", r#"{"s": "123"}"#, 't'),
        ("matches(final.s, '^1')", r#"{"s": "123"}"#, 't'),
        ("final.s.matches(final.pattern)", r#"{"s": "a", "pattern": "("}"#, 'u'),
        ("final.s.startsWith('a')", r#"{"s": null}"#, 'u'),
        ("final.s + '!' == 'a!'", r#"{"s": "a"}"#, 't'),
        ("final.s in ['a', 'b']", r#"{"s": "b"}"#, 't'),
        ("final.s in ['a', 'b']", r#"{}"#, 'f'),
        ("double(final.s) >= 0.9", r#"{"s": "0.95"}"#, 't'),
        ("double(final.s) >= 0.9", r#"{"s": "many"}"#, 'u'),
        // Structure.
        (r#"final["a b"].c[1] == 'y'"#, r#"{"a b": {"c": ["x", "y"]}}"#, 't'),
        ("final.items[7] == null", r#"{"items": [1]}"#, 't'),
        ("final.items[0].score >= 0.5", r#"{"items": [{"score": 1}]}"#, 't'),
        ("final.items[final.at] == 2", r#"{"items": [1, 2], "at": 1}"#, 't'),
        ("final.items[final.at] == 2", r#"{"items": [1, 2], "at": 5}"#, 'u'),
        ("final.scores[final.name] == 2", r#"{"scores": {"b": 2}, "name": "a"}"#, 'u'),
        ("size(final.items) == 2 && final.items.size() == 2", r#"{"items": [1, 2]}"#, 't'),
        ("size(final.items) > 0", r#"{}"#, 'u'),
        ("final.items.all(i, i.score >= 0.5)", r#"{"items": [{"score": 1}, {"score": 0.5}]}"#, 't'),
        ("final.items.exists(i, i.error == null)", r#"{"items": [{"error": "x"}, {}]}"#, 't'),
        (
            "final.items.all(i, has(i.ok) && i.ok)",
            r#"{"items": [{"ok": true}, {"ok": true}]}"#,
            't',
        ),
        ("final.items.all(i, has(i.ok))", r#"{"items": [3]}"#, 'f'),
        ("final.items.map(i, i * 2).filter(i, i > 2) == [4.0]", r#"{"items": [1, 2]}"#, 't'),
        (
            "final.items.all(i, i.name != final.name && i.name.size() == 1)",
            r#"{"items": [{"name": "a"}], "name": "b"}"#,
            't',
        ),
        ("final.items.exists_one(i, i == 1)", r#"{"items": [1, 2]}"#, 't'),
        (
            "final.counts.map(k, k) == ['a', 'b', 'c']",
            r#"{"counts": {"c": 1, "a": 1, "b": 1}}"#,
            't',
        ),
        ("final.items.all(final, final > 0)", r#"{"items": [1, 2]}"#, 't'),
        ("final.items.all(p0, p0 > 0) && final.n == 1", r#"{"items": [5], "n": 1}"#, 't'),
        ("'a' in final", r#"{"a": 1}"#, 't'),
        ("'a' in final.m && !('b' in final.m)", r#"{"m": {"a": 1}}"#, 't'),
        ("type(final.n) == int", r#"{"n": 1}"#, 't'),
        // Truth.
        ("final.ok", r#"{"ok": true}"#, 't'),
        ("final.ok", r#"{"ok": 1}"#, 'u'),
        ("final.ok", r#"{}"#, 'u'),
        ("final.ok || final.n > 3", r#"{"n": 4}"#, 't'),
        ("final.n > 3 || final.ok", r#"{"ok": true}"#, 't'),
        ("final.n > 3 && final.ok", r#"{"ok": false}"#, 'f'),
        ("final.n > 3 ? true : false", r#"{}"#, 'u'),
        ("true", "", 't'),
        // The last of duplicate keys wins, also nested.
        ("final.a == 2", r#"{"a": 1, "a": 2}"#, 't'),
        ("final.a.b == 2", r#"{"a": {"b": 2}, "a": {"b": 3, "b": 2}}"#, 't'),
        ("final['a\"b'] == 1", r#"{"a\"b": 1}"#, 't'),
    ];
    let wrong: Vec<_> = table
        .iter()
        .map(|(source, json, due)| (source, json, due, verdict(source, json)))
        .filter(|(_, _, due, found)| *due != found)
        .collect();
    assert!(wrong.is_empty(), "expression, data, due, found: {wrong:#?}");
}

#[test]
fn a_lone_surrogate_beside_or_in_a_field_hides_nothing() {
    assert_eq!(verdict("final.a == 1", r#"{"\ud800": "\udc00", "a": 1}"#), 't');
    assert_eq!(verdict("final.s.startsWith('x')", r#"{"s": "x\ud800"}"#), 't');
}

#[test]
fn too_deep_or_too_large_data_cannot_be_evaluated_and_does_no_harm() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(verdict("final.a == []", &deep), 'u');
    assert_eq!(verdict("final.a != null", &deep), 't');
    assert_eq!(verdict("final.a == [] || final.b == null", &deep), 't');
    let wide = format!("{{\"a\": [{}0]}}", "0,".repeat(100_000));
    assert_eq!(verdict("size(final.a) > 1", &wide), 'u');
    assert_eq!(verdict("has(final.a)", &wide), 't');
    let hostile = format!("{{\"b\": {}, \"a\": 1}}", "[".repeat(100_000));
    assert_eq!(verdict("final.a == null", &hostile), 't');
    let nested = format!("{{\"b\": {}{}, \"a\": 1}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(verdict("final.a == 1", &nested), 't');
}

#[test]
fn loops_inside_loops_over_large_lists_end_soon() {
    let wide = format!("{{\"a\": [{}0]}}", "0,".repeat(50_000));
    let started = std::time::Instant::now();
    assert_eq!(verdict("final.a.all(x, final.a.all(y, x == y))", &wide), 'u');
    assert_eq!(verdict("final.a.all(x, !(1 in final.a))", &wide), 'u');
    assert_eq!(verdict("final.a.all(x, final.a == final.a)", &wide), 'u');
    let long = format!("{{\"a\": [{}0], \"s\": \"{}\"}}", "0,".repeat(50_000), "x".repeat(1 << 20));
    assert_eq!(verdict("final.a.all(x, !final.s.contains('y'))", &long), 'u');
    assert_eq!(verdict("final.a.all(x, size(final.s) > 3)", &long), 'u');
    assert_eq!(verdict("final.a.all(x, !final.s.matches('y+z'))", &long), 'u');
    assert_eq!(verdict("final.a.all(x, final.s + 'x' != final.s)", &long), 'u');
    assert!(started.elapsed().as_secs() < 60, "took {:?}", started.elapsed());
}

#[test]
fn only_what_is_read_is_asked_for() {
    let program = program(
        "has(final.a.b) && final.a.b == null && final['x y'].z[3] > 1 && final.items.all(i, i.k == final.a.c)",
    );
    let paths: Vec<String> = program.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["final.a.b", "final[\"x y\"].z[3]", "final.items", "final.a.c"]);
    let first = &program.paths()[0];
    assert!(first.compared_with_null && first.tested_with_has && !first.needs_value);
    assert!(program.paths()[1].needs_value);
}

#[test]
fn an_absent_field_names_the_nearest_and_is_fatal_only_where_the_root_is_there() {
    let (_, seen, program) = over("final.acuracy >= 0.9", &[r#"{"accuracy": 1}"#, ""]);
    let findings = seen.findings(&program);
    assert!(
        matches!(&findings[0], Finding::AbsentEverywhere { path, nearest: Some(near), fatal: true, evaluations: 2 }
            if path == "final.acuracy" && near == "final.accuracy"),
        "{findings:?}"
    );
    assert_eq!(
        findings[0].to_string(),
        "`final.acuracy` is in none of 2; did you mean `final.accuracy`?"
    );
    assert!(matches!(&findings[1],
        Finding::Unevaluable { path: Some((path, State::Missing)), count: 2, .. } if path == "final.acuracy"));
    assert!(matches!(&findings[2], Finding::NeverTrue { evaluations: 2, .. }));

    let fatal = |source: &str, data: &[&str]| {
        let (_, seen, program) = over(source, data);
        seen.findings(&program)
            .iter()
            .any(|f| matches!(f, Finding::AbsentEverywhere { fatal, .. } if *fatal))
    };
    assert!(!fatal("final.acuracy >= 0.9", &["", "null"]));
    assert!(!fatal("final.error == null", &["{}"]));
    assert!(!fatal("has(final.error)", &["{}"]));
    assert!(!fatal("final.acuracy >= 0.9", &["{}", r#"{"acuracy": 1}"#]));
    let (_, seen, program) = over("final.report.pges > 3", &[r#"{"report": {"pages": 4}}"#]);
    assert!(seen.findings(&program)[0].to_string().contains("did you mean `final.report.pages`?"));
}

#[test]
fn what_is_never_true_lists_the_values_seen() {
    let data: Vec<String> = (0..9).map(|n| format!(r#"{{"status": "s{n}"}}"#)).collect();
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let (_, seen, program) = over("final.status == 'done'", &data);
    assert_eq!(
        seen.findings(&program)[0].to_string(),
        r#"is true for none of 9; `final.status` is "s0", "s1", "s2", "s3", "s4", ..."#
    );
}

#[test]
fn the_blame_names_the_field_that_null_harms_and_not_the_one_compared_with_null() {
    let (_, seen, program) = over("final.error == null && final.score >= 0.9", &["{}"]);
    let blamed: Vec<_> = seen
        .findings(&program)
        .into_iter()
        .filter_map(|f| match f {
            Finding::Unevaluable { path: Some((path, state)), .. } => Some((path, state)),
            _ => None,
        })
        .collect();
    assert_eq!(blamed, [("final.score".to_owned(), State::Missing)]);
    let (_, seen, program) =
        over("final.a == 'x' && final.score >= 0.9", &[r#"{"a": "x", "score": "0.9"}"#]);
    assert_eq!(
        seen.findings(&program)[0].to_string(),
        "could not be evaluated in 1 of 1, and counts as false there: `final.score` is a text"
    );
}

fn faults(source: &str, roots: &[Root]) -> (String, String) {
    match Program::compile(source, roots) {
        Ok(_) => ("compiles".to_owned(), String::new()),
        Err(error) => {
            (error.to_string(), source.get(error.range.clone()).unwrap_or("?").to_owned())
        }
    }
}

#[test]
fn faults_are_told_in_words_with_their_place() {
    let table: &[(&str, &str, &str)] = &[
        ("subtask.status = 'completed'", "`=` is no operator; write `==`", "="),
        ("subtask.status === 'completed'", "`===` is no operator; write `==`", "==="),
        ("subtask.a == 1 and subtask.b == 2", "`and` is no operator; write `&&`", "and"),
        ("subtask.a == 1 or subtask.b == 2", "`or` is no operator; write `||`", "or"),
        ("not subtask.a", "`not` is no operator; write `!`", "not"),
        ("subtask.error == None", "`None` is not known; write `null`", "None"),
        ("subtask.ok == True", "`True` is not known; write `true`", "True"),
        ("subtsk.status == 'x'", "`subtsk` is not known; did you mean `subtask`?", "subtsk"),
        (
            "subtask.status == completed",
            "`completed` is not known; fields start with `subtask`; a text stands in quotes, such as 'completed'",
            "completed",
        ),
        (
            "final.report != null",
            "`final` cannot be read in this expression; it reads `subtask`",
            "final",
        ),
        (
            "subtask.name.startWith('a')",
            "there is no function `startWith`; did you mean `startsWith`?",
            "startWith",
        ),
        ("subtask.name.contains('a', 'b')", "x.contains() takes 1 argument, not 2", "contains"),
        ("length(subtask.name) > 3", "there is no function `length`", "length"),
        ("subtask.name.matches('(')", "this is no regular expression", "'('"),
        (
            "subtask.items.all(x)",
            "`all` is not used like this; write list.all(x, condition)",
            "all",
        ),
        ("has(subtask)", "has() takes one field; write it such as has(final.report)", "subtask"),
        ("(subtask.a == 1", "this bracket is not closed; close it", "("),
        ("subtask.a == 1)", "`)` closes nothing; take it out, or open its bracket", ")"),
        ("subtask.a == 'x", "a quoted text is not closed; close it with `'`", "'"),
        ("subtask.a ==", "the expression ends too early", ""),
        ("", "the expression is empty", ""),
        (
            "'completed'",
            "the expression gives a value, not true or false; compare it, as in `final.score >= 0.9`",
            "'completed'",
        ),
        (
            "subtask.a == 99999999999999999999",
            "`99999999999999999999` is no number that can be kept",
            "99999999999999999999",
        ),
        ("subtask.é == 1", "`é`", "é"),
    ];
    for (source, message, place) in table {
        let (found, at) = faults(source, &[Root::Subtask]);
        assert!(found.starts_with(message), "{source}: {found}");
        assert_eq!(at, *place, "{source}: {found}");
    }
    let (message, place) = faults("run.stesp > 3", &[Root::Run]);
    assert_eq!(message, "`run` has no field `stesp`; did you mean `run.steps`?");
    assert_eq!(place, "run.stesp");
    let (message, place) = faults("'é' == 'ü' && oops", &[Root::Run]);
    assert!(message.starts_with("`oops` is not known"), "{message}");
    assert_eq!(place, "oops");
}

#[test]
fn a_fault_is_shown_with_a_caret() {
    let source = "run.status == 'failed' and run.steps > 3";
    let error = Program::compile(source, &[Root::Run]).expect_err("`and` is no operator");
    let shown = error.render(source, "--where");
    insta::assert_snapshot!(shown, @r"
    error: `and` is no operator
     --> --where:1:24
      |
    1 | run.status == 'failed' and run.steps > 3
      |                        ^^^
      |
      = help: write `&&`
    ");
}

/// Runs on a thread with the 2 MB that tests and workers have.
fn on_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn_scoped(scope, work)
            .expect("a thread")
            .join()
            .expect("no overflow");
    });
}

#[test]
fn no_nesting_overflows_a_small_stack() {
    on_small_stack(|| {
        let hostile = [
            "(".repeat(5000),
            "[".repeat(100_000),
            format!("{}true{}", "(".repeat(32), ")".repeat(32)),
            format!("{}1{} == 1", "[".repeat(31), "]".repeat(31)),
            format!("{}true", "!".repeat(9000)),
            format!("{}1 == 1", "-".repeat(9000)),
            format!("final.a == 1{}", " + 1".repeat(2000)),
            format!("final.a == 1{}", " + 1".repeat(400)),
            format!("final{} == 1", ".a".repeat(499)),
            format!("final{} == 1", ".a".repeat(60)),
            format!("final{} == 1", "[0]".repeat(400)),
            format!("true{}", " && true".repeat(1200)),
            format!("true{}", " && true".repeat(200)),
            format!("1{}", " in [1]".repeat(200)),
            format!("1{}", " < 1".repeat(400)),
            format!("{}true", "true ? true : ".repeat(400)),
            format!("{}true", "true ? true : ".repeat(60)),
            format!("final.a{}", ".map(x, x)".repeat(200)),
            format!("final.a{} == []", ".map(x, x)".repeat(30)),
            format!("{}final.b{}", "final.a.all(x, ".repeat(30), ")".repeat(30)),
            format!("{}1{} == null", "{'a': ".repeat(31), "}".repeat(31)),
            "a ".repeat(5000),
            "' ".repeat(5000),
            "? : ".repeat(120),
            "= ".repeat(240),
        ];
        let data = recorded(r#"{"a": [1], "b": true}"#);
        for source in hostile {
            let started = std::time::Instant::now();
            if let Ok(program) = Program::compile(&source, &[Root::Final]) {
                Evaluator::new(Arc::new(program)).eval(&data);
            }
            let start: String = source.chars().take(20).collect();
            assert!(started.elapsed().as_secs() < 20, "{start} took {:?}", started.elapsed());
        }
    });
}

#[test]
fn a_deep_but_allowed_expression_over_deep_data_fits_a_small_stack() {
    on_small_stack(|| {
        let source = format!("final.a == 60{}", " + 1 - 1".repeat(15));
        let program = Arc::new(Program::compile(&source, &[Root::Final]).expect("32 levels"));
        assert!(Evaluator::new(program).eval(&recorded(r#"{"a": 60}"#)));
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(64), "]".repeat(64));
        assert_eq!(verdict("final.a == final.a && size(final.a) == 1", &deep), 't');
    });
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "final",
            ".",
            "a",
            "b",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            "0",
            "1.5",
            "2u",
            "'x'",
            "\"y\"",
            "==",
            "!=",
            "<",
            ">=",
            "&&",
            "||",
            "!",
            "-",
            "+",
            "*",
            "/",
            "%",
            "?",
            ":",
            ",",
            "in",
            "null",
            "true",
            "false",
            "has(",
            ".all(x,",
            ".map(i,",
            ".exists(e,",
            "size(",
            "x",
            "i",
            ".matches('(a')",
            ".contains(",
            "=",
            "r'\\d'",
            "'",
            "\"\"\"",
            "//",
            "\n",
            " ",
            "run",
            ".steps",
            "@",
            "`",
            "\u{e9}",
            "\\",
            "0x",
            "1e999",
            "-9223372036854775808",
            "b'\\xff'",
            "as",
            "int(",
            "string(",
            "type(",
            ".",
            "final.a",
            "final.b == null",
            "optional.none()",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_expression_panics(tokens in proptest::collection::vec(token(), 0..24)) {
        let source = tokens.concat();
        let spaced = tokens.join(" ");
        for source in [source, spaced] {
            match Program::compile(&source, &[Root::Final, Root::Run]) {
                Ok(program) => {
                    let mut evaluator = Evaluator::new(Arc::new(program));
                    for json in ["", "{}", r#"{"a": [1, {"b": 2}], "b": "x"}"#, r#"{"a": {"a": true}, "b": null}"#] {
                        evaluator.eval(&recorded(json));
                    }
                }
                Err(error) => {
                    prop_assert_ne!(&error.message, "this expression cannot be read");
                    prop_assert!(!error.render(&source, "test").is_empty());
                }
            }
        }
    }

    #[test]
    fn observations_merge_in_any_order(
        values in proptest::collection::vec((0_u8..9, 0_usize..3), 1..60),
    ) {
        let program = program("final.a >= 0.5 && final.b != null");
        let mut parts: Vec<Evaluator> = (0..3).map(|_| Evaluator::new(Arc::clone(&program))).collect();
        let mut whole = Evaluator::new(Arc::clone(&program));
        for (value, part) in values {
            let json = match value {
                0 => String::new(),
                1 => r#"{"c": 1, "a": null}"#.to_owned(),
                2 => r#"{"a": "text", "b": 1}"#.to_owned(),
                n => format!(r#"{{"a": 0.{n}, "b": {n}}}"#),
            };
            let data = recorded(&json);
            prop_assert_eq!(whole.eval(&data), parts[part].eval(&data));
        }
        let seen: Vec<Observations> = parts.iter_mut().map(Evaluator::take_observations).collect();
        let join = |order: [usize; 3]| {
            let mut all = seen[order[0]].clone();
            all.merge(seen[order[1]].clone());
            all.merge(seen[order[2]].clone());
            all
        };
        let right = {
            let mut tail = seen[1].clone();
            tail.merge(seen[2].clone());
            let mut all = seen[0].clone();
            all.merge(tail);
            all
        };
        prop_assert_eq!(join([0, 1, 2]), join([2, 1, 0]));
        prop_assert_eq!(join([0, 1, 2]), right);
        let whole = whole.take_observations();
        prop_assert_eq!(join([1, 0, 2]).findings(&program), whole.findings(&program));
    }
}

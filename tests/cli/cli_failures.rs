//! `agenteval failures` through the program: collecting, annotating, checking, exporting, merging.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::cli::{Folder, Ran, agenteval, run};
use serde_json::{Value, json};

/// One run of two steps: one passes, and `search` fails with this message.
fn failed(id: &str, task: &str, message: &str) -> String {
    let run = json!({
        "run_id": id, "task_id": task, "status": "failed", "started_at": "2026-03-02T09:00:00Z",
        "steps": [
            {"step_id": "plan", "type": "tool", "name": "plan", "input": {"q": "secret plan"}},
            {"step_id": "search", "type": "tool", "name": "search", "input": {"q": "x"},
             "error": {"type": "TimeoutError", "message": message}},
        ],
    });
    format!("{run}\n")
}

fn passed(id: &str) -> String {
    format!("{}\n", json!({"run_id": id, "task_id": "t", "status": "completed", "steps": []}))
}

/// The files of a library.
fn files(store: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(store).expect("a folder");
    entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("UTF-8"))
        })
        .collect()
}

#[track_caller]
fn collect(store: &str, file: &str) -> Value {
    let ran = run(&["failures", "collect", file, "--store", store, "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// The id of the one failure of a library.
fn only_id(store: &str) -> String {
    let ran = run(&["failures", "list", "--store", store, "--output", "json"]);
    let list = ran.json();
    let all = list["failures"].as_array().expect("failures");
    assert_eq!(all.len(), 1, "{ran:?}");
    all[0]["id"].as_str().expect("an id").to_owned()
}

fn check(store: &str, file: &str, more: &[&str]) -> Ran {
    run(&[&["failures", "check", file, "--store", store], more].concat())
}

#[test]
fn the_same_runs_again_change_no_byte() {
    let folder = Folder::new();
    let one = failed("a", "t1", "no answer after 30 s at 10:00:00 from /tmp/a");
    let two = failed("b", "t2", "no answer after 7 s at 23:59:59 from /srv/b/c");
    let other = failed("c", "t1", "host is gone");
    let file = folder.file("runs.ndjson", format!("{one}{two}{other}{}", passed("d")));
    let store = folder.at("library");
    let first = collect(&store, &file);
    assert_eq!(first["new"].as_array().map(Vec::len), Some(2), "{first}");
    assert_eq!((&first["runs"], &first["failed_runs"]), (&json!(4), &json!(3)));
    let before = files(&store);
    let again = collect(&store, &file);
    assert_eq!((&again["new"], &again["changed"]), (&json!([]), &json!([])));
    assert_eq!(files(&store), before);

    // Other threads, another order, two halves.
    let halves = folder.at("halves");
    for (name, text) in [("2", format!("{other}{two}")), ("1", format!("{two}{one}"))] {
        let file = folder.file(name, text);
        let format = ["--format", "native", "--threads", "3"];
        let args = [&["failures", "collect", &file, "--store", &halves][..], &format].concat();
        let ran = run(&args);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(files(&halves), before);
}

#[test]
fn no_failed_run_makes_no_folder_and_no_run_is_an_error() {
    let folder = Folder::new();
    let store = folder.at("library");
    let file = folder.file("runs.ndjson", passed("a"));
    assert_eq!(collect(&store, &file)["failures"], json!(0));
    assert!(!Path::new(&store).exists());
    let empty = folder.file("empty.ndjson", "");
    run(&["failures", "collect", &empty, "--store", &store]).refused(4, &["no run was evaluated"]);
}

#[test]
fn a_failure_that_was_fixed_fails_the_check_when_it_is_back() {
    let folder = Folder::new();
    let store = folder.at("library");
    let file = folder.file("runs.ndjson", failed("a", "t", "no answer after 30 s"));
    let ran = check(&store, &file, &[]);
    ran.refused(2, &["no such folder"]);
    collect(&store, &file);
    let id = only_id(&store);
    let annotate = |more: &[&str]| {
        run(&[&["failures", "annotate", &id[..6], "--store", &store], more].concat())
    };

    assert_eq!(check(&store, &file, &["--new", "fail"]).code, 0, "it is known");
    assert_eq!(annotate(&["--status", "known", "--note", " retry\n helps "]).code, 0);
    assert_eq!(check(&store, &file, &[]).code, 0);
    assert_eq!(annotate(&["--status", "fixed"]).code, 0);
    let back = folder.file("later.ndjson", passed("x") + &failed("z", "t", "no answer after 5 s"));
    let ran = check(&store, &back, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in [id.as_str(), "back", "run z", "later.ndjson:2", "step 2", "retry helps"] {
        assert!(ran.out.contains(part), "no {part}: {ran:?}");
    }
    let other = folder.file("other.ndjson", failed("a", "t", "host is gone"));
    assert_eq!(check(&store, &other, &[]).code, 0, "another fault is not this one");

    assert_eq!(annotate(&["--status", "quarantined", "--until", "2026-04-01"]).code, 0);
    assert_eq!(check(&store, &file, &["--today", "2026-04-01"]).code, 0);
    let ran = check(&store, &file, &["--today", "2026-04-02", "--output", "json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(ran.json()["failures"][0]["finding"], "quarantine_ended");
    // Longer, then looked at.
    assert_eq!(annotate(&["--until", "2026-05-01"]).code, 0);
    assert_eq!(check(&store, &file, &["--today", "2026-04-02"]).code, 0);
    assert_eq!(annotate(&["--status", "known"]).code, 0);
    assert_eq!(check(&store, &file, &["--today", "2026-06-01"]).code, 0);
}

#[test]
fn new_failures_are_told_or_fail_or_are_ignored() {
    let folder = Folder::new();
    let store = folder.at("library");
    collect(&store, &folder.file("old.ndjson", failed("a", "t", "host is gone")));
    let file = folder.file("new.ndjson", failed("b", "t", "no answer"));
    let warned = check(&store, &file, &[]);
    assert!(warned.code == 0 && warned.out.contains("look at run b"), "{warned:?}");
    assert_eq!(check(&store, &file, &["--new", "fail"]).code, 1);
    let silent = check(&store, &file, &["--new", "ignore"]);
    assert!(silent.code == 0 && !silent.out.contains("look at"), "{silent:?}");
}

#[test]
fn annotations_that_do_not_go_together_are_refused_and_write_nothing() {
    let folder = Folder::new();
    let store = folder.at("library");
    collect(&store, &folder.file("runs.ndjson", failed("a", "t", "no answer")));
    let (id, before) = (only_id(&store), files(&store));
    let empty = folder.file("empty.txt", " \n");
    for (more, part) in [
        (&["--status", "quarantined"][..], "--until"),
        (&["--until", "2026-04-01"], "--status quarantined"),
        (&["--status", "fixed", "--until", "2026-04-01"], "not to fixed"),
        (&["--status", "quarantined", "--until", "2026-02-30"], "expected a day"),
        (&["--note", " \n "], "empty"),
        (&["--corrected-output", &empty], "empty"),
        (&["--corrected-output", "not/there.json"], "not/there.json"),
        (&[], "nothing to write"),
    ] {
        let args = [&["failures", "annotate", &id, "--store", &store], more].concat();
        run(&args).refused(2, &[part]);
    }
    run(&["failures", "annotate", "zzz", "--note", "x", "--store", &store])
        .refused(2, &["begins with `zzz`"]);
    assert_eq!(files(&store), before);
}

#[test]
fn the_tasks_of_failures_are_a_regression_set_with_what_is_right() {
    let folder = Folder::new();
    let store = folder.at("library");
    let runs = failed("a", "t1", "no answer") + &failed("b", "=t2", "no answer");
    collect(&store, &folder.file("runs.ndjson", runs));
    let id = only_id(&store);
    let export = |more: &[&str]| run(&[&["failures", "export", "--store", &store], more].concat());
    export(&[]).refused(4, &["--status known"]);
    let right =
        folder.file("right.json", "{ \"total\": 1.0, \"id\": 123456789012345678901234567890 }");
    let ran = run(&[
        "failures",
        "annotate",
        &id,
        "--store",
        &store,
        "--status",
        "known",
        "--corrected-output",
        &right,
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = export(&[]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    let right = "\"corrected_output\":{\"total\":1.0,\"id\":123456789012345678901234567890}";
    // Of one of both tasks, that of the excerpt.
    assert_eq!(lines.iter().filter(|line| line.contains(right)).count(), 1, "{ran:?}");
    let second: Value = serde_json::from_str(lines[1]).expect("JSON");
    assert_eq!((&second["task_id"], &second["signatures"]), (&json!("t1"), &json!([id])));
    assert!(second["failures"][0]["example_run"].is_string(), "{second}");
    let csv = folder.at("set.csv");
    assert_eq!(export(&["-o", &csv]).out, format!("wrote 2 tasks to {csv}\n"));
    let text = std::fs::read_to_string(&csv).expect("a file");
    assert!(text.starts_with("task_id,signature,") && text.contains("\n'=t2,"), "{text}");
    let json = folder.at("set.json");
    assert_eq!(export(&["-o", &json]).code, 0);
    assert!(std::fs::read_to_string(&json).expect("a file").contains("agenteval.regressions/1"));
    export(&["-o", &folder.at("set.xml")]).refused(2, &[".ndjson, .json or .csv"]);
    export(&["-o", &folder.at("library/set.json")]).refused(2, &["library of failures"]);
    assert_eq!(files(&store).len(), 1);
}

#[test]
fn the_corrected_output_of_one_task_was_exported_for_all_tasks_of_its_signature() {
    let folder = Folder::new();
    let store = folder.at("library");
    let runs = failed("a", "t1", "no answer") + &failed("b", "t2", "no answer");
    collect(&store, &folder.file("runs.ndjson", runs));
    let id = only_id(&store);
    let right = folder.file("right.json", "{\"total\": 2}");
    let annotate = |more: &[&str]| {
        let args = ["failures", "annotate", &id, "--store", &store];
        run(&[&args[..], more].concat())
    };
    annotate(&["--task", "t2"]).refused(2, &["add --corrected-output"]);
    annotate(&["--corrected-output", &right, "--task", "t22"])
        .refused(2, &["not seen in this task", "did you mean `t2`?"]);
    for (task, other) in [("t2", "t1"), ("t1", "t2")] {
        let more = ["--status", "known", "--corrected-output", &right, "--task", task];
        let ran = annotate(&more);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.starts_with("annotated "), "{ran:?}");
        let ran = run(&["failures", "export", "--store", &store, "--output", "json"]);
        let set = ran.json();
        for one in set["tasks"].as_array().expect("tasks") {
            let wanted = if one["task_id"] == task { json!({"total": 2}) } else { Value::Null };
            assert_eq!(one["corrected_output"], wanted, "{task} {other}: {set:#}");
            assert_eq!(one["failures"][0]["corrected_output"], wanted, "{set:#}");
        }
        // A later collection changes nothing of it.
        let more = folder.file("more.ndjson", failed("0", "t0", "no answer"));
        collect(&store, &more);
        let shown = run(&["failures", "show", &id, "--store", &store]);
        assert!(shown.out.contains("right for"), "{shown:?}");
    }
}

#[test]
fn secrets_that_hands_wrote_into_a_file_were_printed() {
    let folder = Folder::new();
    let store = folder.at("library");
    collect(&store, &folder.file("runs.ndjson", failed("a", "t", "no answer")));
    let id = only_id(&store);
    let (name, text) = files(&store).into_iter().next().expect("one");
    let secret = format!("sk-{}", "Ab1".repeat(14));
    let text = text
        .replace("\"status\": \"new\"", "\"status\": \"known\"")
        .replace("\"notes\": []", &format!("\"notes\": [\"the key is {secret}\"]"))
        .replace(
            "\"corrected_output\": null",
            &format!("\"corrected_output\": {{\"key\": \"{secret}\"}}"),
        );
    assert_eq!(text.matches(&secret).count(), 2, "{text}");
    std::fs::write(Path::new(&store).join(name), text).expect("written");
    for command in [
        &["show", &id][..],
        &["show", &id, "--output", "json"],
        &["list", "--output", "json"],
        &["export"],
        &["export", "--output", "json"],
        &["export", "--output", "csv"],
    ] {
        let ran = run(&[&["failures"], command, &["--store", &store]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.out.contains(&secret), "{command:?}: {ran:?}");
    }
    let shown = run(&["failures", "show", &id, "--output", "json", "--store", &store]);
    assert!(shown.json()["corrected_output"]["key"].is_string(), "{shown:?}");
}

#[test]
fn a_check_without_a_library_passed() {
    let folder = Folder::new();
    let file = folder.file("runs.ndjson", failed("a", "t", "no answer"));
    let check_in = |more: &[&str]| {
        let mut command = agenteval();
        command.current_dir(folder.path()).args(["failures", "check", &file]).args(more);
        Ran::of(&mut command)
    };
    check_in(&[]).refused(2, &["no such folder", "--missing ok"]);
    let ran = check_in(&["--missing", "ok"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("warning: there is no failure"), "{ran:?}");
}

#[test]
fn an_annotation_that_changed_nothing_was_told_as_one_because_another_file_was_old() {
    let folder = Folder::new();
    let store = folder.at("library");
    let runs = failed("a", "t", "no answer") + &failed("b", "t", "host is gone");
    let found = collect(&store, &folder.file("runs.ndjson", runs));
    let ids: Vec<&str> =
        found["new"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    // The other file has counts that are not those of its list, which any command mends.
    let other = files(&store).into_iter().find(|(name, _)| name.contains(ids[1])).expect("there");
    let stale = other.1.replace("\"runs\": 1,", "\"runs\": 9,");
    assert_ne!(stale, other.1);
    std::fs::write(Path::new(&store).join(&other.0), stale).expect("written");
    let args = ["failures", "annotate", ids[0], "--store", &store, "--status", "new"];
    let ran = run(&args);
    assert!(ran.out.starts_with("unchanged "), "{ran:?}");
}

#[test]
fn hostile_names_and_messages_stay_inside_the_folder_and_on_their_lines() {
    let folder = Folder::new();
    let store = folder.at("deep/library");
    let long = "数据 ../../x\n".repeat(80_000);
    let mut text = String::new();
    for (kind, tool, message) in [
        ("../../../escape", "..", "../../etc/passwd"),
        ("a\nb", "\u{1b}[31mred", "line one\nline two\u{202e}"),
        ("错误", "工具/搜索", "订单12345不存在"),
        ("con", "nul", long.as_str()),
        ("", "", "=cmd()"),
    ] {
        let run = json!({"run_id": "../r\n", "task_id": "t/../..", "status": "failed", "steps": [
            {"type": "tool", "name": tool, "error": {"type": kind, "message": message}}]});
        text += &format!("{run}\n");
    }
    let file = folder.file("runs.ndjson", &text);
    collect(&store, &file);
    let found = files(&store);
    assert_eq!(found.len(), 5, "{:?}", found.keys());
    for (name, text) in &found {
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)), "{name}");
        assert!(
            text.len() < 8_000 && !text.contains(['\u{1b}', '\u{202e}']),
            "{name}: {}",
            text.len()
        );
    }
    let outside: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(outside.len(), 2, "the runs and the folder of the library: {outside:?}");
    for command in [&["list"][..], &["list", "--output", "markdown"]] {
        let ran = run(&[&["failures"], command, &["--store", &store]].concat());
        assert!(ran.code == 0 && !ran.out.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
fn secrets_are_neither_stored_nor_shown() {
    let folder = Folder::new();
    let store = folder.at("library");
    let body = "Ab1".repeat(14);
    let run_of = |id: &str| {
        let run = json!({"run_id": id, "task_id": format!("sk-{body}"), "status": "failed", "steps": [
            {"type": "tool", "name": "login", "input": {"api_key": body}, "output": format!("Bearer {body}"),
             "error": {"type": "AuthError", "message": format!("bad key sk-{body}")}}]});
        format!("{run}\n")
    };
    let file = folder.file("runs.ndjson", run_of("a"));
    let ran = run(&["failures", "collect", &file, "--include-content", "--store", &store]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = only_id(&store);
    let note = format!("token=sk-{body}");
    let right = folder.file("right.json", format!("{{\"api_key\": \"{body}\"}}"));
    let args = [
        "failures",
        "annotate",
        &id,
        "--store",
        &store,
        "--status",
        "known",
        "--note",
        &note,
        "--corrected-output",
        &right,
    ];
    let annotated = run(&args);
    assert!(annotated.err.contains("secrets in the corrected output were masked"), "{annotated:?}");
    let mut said = files(&store).into_values().collect::<String>();
    assert!(said.contains("\"input\"") && said.contains("[masked]"), "{said}");
    for command in [
        &["list"][..],
        &["show", &id],
        &["show", &id, "--output", "json"],
        &["export"],
        &["export", "--output", "csv"],
        &["check", &file],
        &["check", &file, "--output", "json"],
    ] {
        let ran = run(&[&["failures"], command, &["--store", &store]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        said += &ran.out;
        said += &ran.err;
    }
    assert!(!said.contains(&body), "{said}");
}

#[test]
fn contents_are_kept_only_where_they_are_asked_for() {
    let folder = Folder::new();
    let store = folder.at("library");
    let file = folder.file("runs.ndjson", failed("a", "t", "no answer"));
    collect(&store, &file);
    let plain = files(&store);
    assert!(plain.values().all(|text| !text.contains("secret plan")));
    let args = ["failures", "collect", &file, "--include-content", "--store", &store];
    assert_eq!(run(&args).code, 0);
    let told = files(&store);
    assert!(told.values().all(|text| text.contains("secret plan")), "{told:?}");
    collect(&store, &file);
    assert_eq!(files(&store), told, "what was kept stays");
}

#[test]
fn only_runs_that_where_keeps_are_collected() {
    let folder = Folder::new();
    let store = folder.at("library");
    let runs = failed("a", "t1", "no answer") + &failed("b", "t2", "host is gone");
    let file = folder.file("runs.ndjson", runs);
    let args = ["failures", "collect", &file, "--where", "run.task_id == 't1'", "--store", &store];
    assert_eq!(run(&args).code, 0);
    assert!(files(&store).into_values().next().expect("one").contains("no answer"));
    only_id(&store);
}

/// Two branches collect other runs of one failure; what git leaves is lines that people can read,
/// and keeping the lines of both sides is right without adding up numbers.
#[test]
fn a_merge_conflict_of_two_branches_reads_line_by_line() {
    let folder = Folder::new();
    let base = failed("base", "t0", "no answer after 1 s");
    let ours = failed("run-of-main", "t1", "no answer after 2 s");
    let theirs = failed("run-of-branch", "t2", "no answer after 3 s");
    let library = |name: &str, runs: &str| {
        let store = folder.at(name);
        collect(&store, &folder.file(&format!("{name}.ndjson"), runs));
        files(&store).pop_first().expect("one")
    };
    let (name, base_text) = library("base", &base);
    let (_, our_text) = library("ours", &format!("{base}{ours}"));
    let (_, their_text) = library("theirs", &format!("{base}{theirs}"));
    let (_, all) = library("all", &format!("{base}{ours}{theirs}"));
    let [our_file, base_file, their_file] = [("o", our_text), ("b", base_text), ("t", their_text)]
        .map(|(name, text)| folder.file(name, text));
    let Ok(output) =
        Command::new("git").args(["merge-file", "-p", &our_file, &base_file, &their_file]).output()
    else {
        return; // no git here
    };
    let merged = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(merged.contains("<<<<<<<"), "the two sides conflict: {merged}");
    println!("{merged}");
    let longest = merged.lines().map(str::len).max();
    assert!(longest < Some(220), "every line can be read: {merged}");
    let marked = folder.file(&format!("merged/{name}"), &merged);
    let store = folder.at("merged");
    let line = 1 + merged.lines().position(|line| line.starts_with("<<<<<<<")).expect("a mark");
    let place = format!("{marked}:{line}: ");
    run(&["failures", "list", "--store", &store]).refused(2, &[&place, "merge conflict"]);

    // Both sides of lists, one side of the rest: as somebody would do it.
    let element = |line: &str| {
        let text = line.strip_prefix("    ").unwrap_or_default();
        text.starts_with("{\"run\"") || (text.starts_with('"') && !text.contains("\": "))
    };
    let mut kept: Vec<String> = Vec::new();
    let mut side = 0;
    for line in merged.lines() {
        match line.get(..7) {
            Some("<<<<<<<") => side = 1,
            Some("=======") => side = 2,
            Some(">>>>>>>") => side = 0,
            _ if side == 2 && !element(line) => {}
            _ => kept.push(line.to_owned()),
        }
    }
    // Elements that now stand before others need their comma, and the last one none.
    for at in 0..kept.len() - 1 {
        if element(&kept[at]) {
            let more = element(&kept[at + 1]);
            let bare = kept[at].trim_end_matches(',').to_owned();
            kept[at] = if more { bare + "," } else { bare };
        }
    }
    let resolved = kept.join("\n") + "\n";
    folder.file(&format!("merged/{name}"), &resolved);
    let ran = run(&["failures", "list", "--store", &store, "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}\n{resolved}");
    let list = ran.json();
    let one = &list["failures"][0];
    assert_eq!((&one["runs"], &one["tasks"], &one["attempts"]), (&json!(3), &json!(3), &json!(3)));
    let again = folder.file("again.ndjson", format!("{theirs}{base}{ours}"));
    collect(&store, &again);
    assert_eq!(files(&store).get(&name), Some(&all), "resolved: {resolved}");
}

#[test]
fn a_file_that_cannot_be_read_stops_every_command_and_nothing_is_written() {
    let folder = Folder::new();
    let store = folder.at("library");
    let file = folder.file("runs.ndjson", failed("a", "t", "no answer"));
    collect(&store, &file);
    let broken = folder.file("library/zzz.json", "{\"schema\": \"other\"}\n");
    let before = files(&store);
    let new = folder.file("new.ndjson", failed("b", "t", "host is gone"));
    let place = format!("{broken}:1");
    for command in [
        &["collect", &new][..],
        &["list"],
        &["show", "a"],
        &["annotate", "a", "--note", "x"],
        &["check", &new],
        &["export"],
    ] {
        run(&[&["failures"], command, &["--store", &store]].concat()).refused(2, &[&place]);
    }
    assert_eq!(files(&store), before);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_the_library_is_not_followed() {
    let folder = Folder::new();
    let store = folder.at("library");
    collect(&store, &folder.file("runs.ndjson", failed("a", "t", "no answer")));
    let outside = folder.file("outside.json", "{}");
    std::os::unix::fs::symlink(&outside, Path::new(&store).join("x.json")).expect("a link");
    run(&["failures", "list", "--store", &store]).refused(2, &["no plain file"]);
}

#[test]
fn the_library_of_the_project_is_found_from_a_folder_below() {
    let folder = Folder::new();
    let file = folder.file("project/sub/runs.ndjson", failed("a", "t", "no answer"));
    std::fs::create_dir_all(folder.at("project/.agenteval")).expect("a folder");
    let mut command = agenteval();
    command.current_dir(folder.at("project/sub")).args(["failures", "collect", &file]);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(files(&folder.at("project/.agenteval/failures")).len(), 1);
}

#[test]
fn a_library_that_is_named_and_not_there_is_told() {
    let folder = Folder::new();
    let store = folder.at("typo");
    for command in
        [&["list"][..], &["show", "ab"], &["annotate", "ab", "--status", "known"], &["export"]]
    {
        run(&[&["failures"], command, &["--store", &store]].concat())
            .refused(2, &["typo: there is no such folder", "failures collect"]);
    }
    // Without a name it is the library of a project that has none yet.
    let mut list = agenteval();
    list.current_dir(folder.path()).args(["failures", "list"]);
    assert_eq!(Ran::of(&mut list).code, 0);
}

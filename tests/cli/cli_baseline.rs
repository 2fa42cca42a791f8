//! `agenteval baseline` as people and CI use it.

use crate::support;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli::{Folder, Ran, agenteval, fixture, schema_faults};
use serde_json::Value;

/// Runs in a folder of its own, without what a CI machine would say of commit and time.
fn within(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = agenteval();
    command.current_dir(folder.path()).arg("baseline").args(args);
    for name in
        ["GITHUB_SHA", "CI_COMMIT_SHA", "SOURCE_DATE_EPOCH", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"]
    {
        command.env_remove(name);
    }
    Ran::of(&mut command)
}

#[track_caller]
fn done(folder: &Folder, args: &[&str]) -> Ran {
    let ran = within(folder, args);
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    ran
}

/// The bundled runs, copied as `name`, with `_VARIANT` at the end of each run id.
fn runs(folder: &Folder, name: &str, variant: &str) -> String {
    let text =
        read(Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture("native/support-flow.ndjson")));
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut run: Value = serde_json::from_str(line).unwrap();
            run["run_id"] = format!("{}{variant}", run["run_id"].as_str().unwrap()).into();
            run.to_string()
        })
        .collect();
    folder.file(name, lines.join("\n") + "\n");
    name.to_owned()
}

/// Ten runs, of which the first `completed` are.
fn rated(folder: &Folder, name: &str, completed: usize) -> String {
    let run = |at: usize| {
        let status = if at < completed { "completed" } else { "failed" };
        format!(
            r#"{{"run_id": "{name}-{at}", "task_id": "t{at}", "status": "{status}", "steps": [{{"type": "tool"}}]}}"#
        )
    };
    folder.file(name, (0..10).map(|at| run(at) + "\n").collect::<String>());
    name.to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn stored(folder: &Folder) -> String {
    read(folder.at(".agenteval/baselines/main.json"))
}

#[test]
fn a_saved_baseline_is_shown_with_the_figures_of_its_runs() {
    let folder = Folder::new();
    let file = runs(&folder, "a.ndjson", "");
    let ran = done(&folder, &["save", "main", &file]);
    assert_eq!(
        ran.out,
        "saved main: 24 runs of 8 tasks, 21/23 completed (91.3%)\n.agenteval/baselines/main.json\n"
    );
    let shown = done(&folder, &["show", "main", "--output", "json"]).json();
    let mut analyze = agenteval();
    let report =
        Ran::of(analyze.current_dir(folder.path()).args(["analyze", &file, "--output", "json"]))
            .json();
    for part in ["runs", "tasks", "counts", "distributions", "retries"] {
        assert_eq!(shown["report"][part], report[part], "{part}");
    }
    for (name, figure) in report["metrics"].as_object().unwrap() {
        for part in ["value", "numerator", "denominator"] {
            assert_eq!(shown["report"]["metrics"][name][part], figure[part], "{name} {part}");
        }
    }
    let listed = done(&folder, &["list", "--output", "json"]).json();
    assert_eq!(listed["baselines"][0]["name"], "main");
    assert_eq!(listed["baselines"][0]["sha256"], shown["sha256"]);
    assert_eq!(listed["baselines"][0]["runs"], 24);
    let table = done(&folder, &["list"]).out;
    assert!(table.contains("main") && table.contains("91.3% (21/23)"), "{table}");
    assert!(done(&folder, &["list", "--output", "markdown"]).out.contains("| main "));
    assert!(done(&folder, &["show", "main"]).out.contains("final_completion_rate     91.3%"));
    done(&folder, &["rm", "main"]);
    assert!(done(&folder, &["list"]).out.starts_with("no baseline in .agenteval/baselines"));
    within(&folder, &["rm", "main"]).refused(2, &["no baseline `main`"]);
}

#[test]
fn the_file_is_valid_by_its_schema_and_has_a_run_a_line() {
    let folder = Folder::new();
    let file = runs(&folder, "a.ndjson", "");
    let origin = ["--commit", "3f2c91", "--time", "2026-01-31T12:00:00+01:00"];
    done(&folder, &[&["save", "main", &file], &origin[..]].concat());
    let other = runs(&folder, "b.ndjson", "-b");
    done(&folder, &["save", "main", &other, "--pool"]);
    let third = runs(&folder, "c.ndjson", "-c");
    let bless = ["bless", "main", &third, "--reason", "new prompt", "--by", "me"];
    done(&folder, &[&bless, &origin[..]].concat());
    let text = stored(&folder);
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema_faults("baseline", &json), Vec::<String>::new());
    assert_eq!(json["schema"], "agenteval.baseline/1");
    assert_eq!(json["saves"][0]["time"], "2026-01-31T11:00:00Z");
    assert_eq!(json["saves"][0]["commit"], "3f2c91");
    assert_eq!(json["history"][0]["reason"], "new prompt");
    assert_eq!(json["history"][0]["runs"], 48);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"task_id\"")).collect();
    assert_eq!(lines.len(), 24);
    assert!(lines.is_sorted());
    let mut wrong = json;
    wrong["runs"][0]["stesp"] = 1.into();
    assert!(!schema_faults("baseline", &wrong).is_empty(), "and the schema refuses a misspelt key");
}

#[test]
fn the_same_runs_give_the_same_bytes_in_any_order_on_any_number_of_threads() {
    let folder = Folder::new();
    for variant in ["-a", "-b", "-c"] {
        runs(&folder, &format!("x{variant}.ndjson"), variant);
    }
    let mut seen = Vec::new();
    for threads in ["1", "2", "8"] {
        for order in [["x-a", "x-b", "x-c"], ["x-c", "x-a", "x-b"]] {
            let files = order.map(|name| format!("{name}.ndjson"));
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            let args = [&["save", "main", "--force", "--threads", threads], &files[..]].concat();
            done(&folder, &args);
            seen.push(stored(&folder));
            done(&folder, &["rm", "main"]);
        }
    }
    assert!(seen.iter().all(|text| *text == seen[0]));
    // The same runs in one file in another order: only what was read differs.
    let mut lines: Vec<String> = Vec::new();
    for name in ["x-b.ndjson", "x-c.ndjson", "x-a.ndjson"] {
        lines.extend(read(folder.at(name)).lines().rev().map(str::to_owned));
    }
    folder.file("all.ndjson", lines.join("\n"));
    done(&folder, &["save", "main", "all.ndjson"]);
    let without_inputs = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("\"path\"")).map(str::to_owned).collect()
    };
    assert_eq!(without_inputs(&stored(&folder)), without_inputs(&seen[0]));
}

/// The form of the file and the meaning of its figures do not change unnoticed. Where the change is
/// meant, save `fixtures/baselines/main.json` anew with these arguments, and raise `DEFINITIONS` if
/// the same trace is now counted in another way.
#[test]
fn the_bundled_baseline_is_what_is_saved_today() {
    let folder = Folder::new();
    let mut command = agenteval();
    command.args(["baseline", "save", "main", &fixture("native/support-flow.ndjson")]).args([
        "--commit",
        "3f2c91d",
        "--time",
        "2026-03-02T12:00:00Z",
        "--store",
        &folder.at("s"),
    ]);
    assert_eq!(Ran::of(&mut command).code, 0);
    let bundled = read(Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture("baselines/main.json")));
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("  \"agenteval\""));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&read(folder.at("s/main.json"))), lines(&bundled));
}

#[test]
fn a_folder_is_one_input_with_a_digest_of_its_files() {
    let folder = Folder::new();
    runs(&folder, "traces/one/a.ndjson", "-a");
    runs(&folder, "traces/b.ndjson", "-b");
    done(&folder, &["save", "main", "traces"]);
    let of = |folder: &Folder| -> Value {
        serde_json::from_str::<Value>(&stored(folder)).unwrap()["inputs"].clone()
    };
    let relative = of(&folder);
    assert_eq!(relative.as_array().unwrap().len(), 1);
    assert_eq!((&relative[0]["path"], &relative[0]["files"]), (&"traces".into(), &2.into()));
    done(&folder, &["save", "main", "--force", &folder.at("traces")]);
    assert_eq!(of(&folder), relative, "an absolute path leaves no trace of the machine");
    runs(&folder, "traces/b.ndjson", "-c");
    done(&folder, &["save", "main", "--force", "traces"]);
    assert_ne!(of(&folder)[0]["sha256"], relative[0]["sha256"]);
    // Standard input cannot be read again.
    let mut command = agenteval();
    command.current_dir(folder.path()).args(["baseline", "save", "piped", "-"]);
    command.write_stdin(read(folder.at("traces/b.ndjson")));
    assert_eq!(Ran::of(&mut command).code, 0);
    let piped: Value =
        serde_json::from_str(&read(folder.at(".agenteval/baselines/piped.json"))).unwrap();
    assert_eq!(piped["inputs"][0]["path"], "-");
    assert!(piped["inputs"][0].get("sha256").is_none());
}

#[test]
fn no_content_of_a_trace_and_no_secret_is_kept() {
    let folder = Folder::new();
    let secret = ["sk-", &"Ab1".repeat(12)].concat();
    let run = serde_json::json!({
        "run_id": "r1", "task_id": format!("task {secret}"), "trial": 1, "agent": secret,
        "model": format!("m token={secret}"), "status": "completed",
        "tags": {"api_key": "hunter2hunter2", "note": format!("Bearer {secret}")},
        "final": {"report": "the-final-text"},
        "steps": [
            {"type": format!("tool {secret}"), "name": secret, "status": "failed", "input": {"q": "the-input-text"},
             "output": "the-output-text", "reasoning": "the-reasoning-text",
             "error": {"type": format!("E {secret}"), "message": "the-error-text"}},
            {"type": "tool", "name": "x", "input": {"q": "the-input-text"}}
        ]
    });
    folder.file("leak.ndjson", run.to_string());
    done(&folder, &["save", "main", "leak.ndjson"]);
    let reason = format!("because {secret}");
    done(&folder, &["bless", "main", "leak.ndjson", "--reason", &reason, "--by", &secret]);
    let text = stored(&folder);
    for part in ["the-", "Ab1Ab1", "hunter2"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
    assert!(text.contains("[masked]"), "{text}");
    let shown = done(&folder, &["show", "main"]).out;
    assert!(!shown.contains("Ab1Ab1"), "{shown}");
}

#[test]
fn an_existing_baseline_is_kept_unless_it_is_meant() {
    let folder = Folder::new();
    let file = runs(&folder, "a.ndjson", "");
    done(&folder, &["save", "main", &file]);
    let before = stored(&folder);
    let said =
        ["already", "agenteval baseline bless main PATH... --reason TEXT", "--pool", "--force"];
    within(&folder, &["save", "main", &file]).refused(2, &said);
    within(&folder, &["save", "main", &file, "--force", "--pool"]).refused(2, &["--pool"]);
    within(&folder, &["save", "main", &file, "--keep", "3"]).refused(2, &["--pool"]);
    within(&folder, &["bless", "other", &file, "--reason", "x"])
        .refused(2, &["no baseline `other`", "there are: main", "save"]);
    within(&folder, &["bless", "main", &file, "--reason", " \n "])
        .refused(2, &["--reason is empty"]);
    within(&folder, &["bless", "main", &file]).refused(2, &["--reason"]);
    within(&folder, &["save", "new", &file, "--pool"]).refused(2, &["save it first"]);
    within(&folder, &["save", "main", &file, "--pool"])
        .refused(2, &["same content as an input of save 1"]);
    within(&folder, &["save", "main", ".agenteval/baselines/main.json", "--force"])
        .refused(2, &["is read by the same command"]);
    assert_eq!(stored(&folder), before);
}

#[test]
fn nothing_evaluated_saves_nothing() {
    let folder = Folder::new();
    folder.file("empty.json", "[]");
    folder.file("broken.ndjson", "{\"steps\": [\n{\"steps\": 3}\n");
    within(&folder, &["save", "main", "empty.json"]).refused(4, &["no run was evaluated"]);
    let ran = within(&folder, &["save", "main", "broken.ndjson"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let file = runs(&folder, "a.ndjson", "");
    within(&folder, &["save", "main", &file, "--where", "run.steps > 99"]).refused(4, &["--where"]);
    assert!(!Path::new(&folder.at(".agenteval")).exists(), "no folder either");
}

#[test]
fn rejected_and_doubled_records_are_told_and_counted() {
    let folder = Folder::new();
    let file = rated(&folder, "a.ndjson", 5);
    let text = read(folder.at(&file));
    let first = text.lines().next().unwrap();
    folder.file("b.ndjson", format!("{text}{first}\n{{\"run_id\": \"cut\", \"steps\": [\n"));
    let ran = done(&folder, &["save", "main", "b.ndjson"]);
    assert!(ran.err.contains("duplicate_run_id") && ran.err.contains("rejected"), "{ran:?}");
    let json: Value = serde_json::from_str(&stored(&folder)).unwrap();
    assert_eq!(json["inputs"][0]["rejected"], 1);
    assert_eq!(done(&folder, &["save", "q", "b.ndjson", "--quiet"]).err, "");
    within(&folder, &["save", "s", "b.ndjson", "--strict"]).refused(2, &["--strict"]);
}

#[test]
fn names_are_no_paths() {
    let folder = Folder::new();
    let file = runs(&folder, "a.ndjson", "");
    for name in ["../x", "a/b", "..", ".x", "nul", "COM1.json", "a b", "x\u{7}"] {
        for args in [vec!["save", name, &file], vec!["show", name], vec!["rm", name]] {
            within(&folder, &args).refused(2, &["cannot be the name of a baseline"]);
        }
    }
    within(&folder, &["save", "feature/x", &file]).refused(2, &["write `feature-x`"]);
    done(&folder, &["save", "基线-1.0_ё", &file]);
    assert!(done(&folder, &["list"]).out.contains("基线-1.0_ё"));
    assert!(!folder.path().join("x.json").exists());
}

#[test]
fn a_missing_baseline_names_the_nearest() {
    let folder = Folder::new();
    within(&folder, &["show", "main"]).refused(2, &["agenteval baseline save main PATH..."]);
    let file = runs(&folder, "a.ndjson", "");
    done(&folder, &["save", "main", &file]);
    done(&folder, &["save", "release-1", &file]);
    within(&folder, &["show", "mian"]).refused(2, &["did you mean `main`?", "main, release-1"]);
}

#[test]
fn damaged_files_are_refused_and_listed_as_such() {
    let folder = Folder::new();
    let file = runs(&folder, "a.ndjson", "");
    done(&folder, &["save", "main", &file]);
    let sound = stored(&folder);
    let at = ".agenteval/baselines";
    folder.file(&format!("{at}/cut.json"), &sound[..sound.len() / 2]);
    folder
        .file(&format!("{at}/merge.json"), sound.replace("  \"runs\"", "<<<<<<< ours\n  \"runs\""));
    folder.file(&format!("{at}/newer.json"), sound.replace("baseline/1", "baseline/9"));
    folder.file(&format!("{at}/none.json"), "");
    for (name, part) in [
        ("cut", "breaks off"),
        ("merge", "merge conflict"),
        ("newer", "agenteval.baseline/9"),
        ("none", "breaks off"),
    ] {
        within(&folder, &["show", name]).refused(2, &[part, name]);
        within(&folder, &["bless", name, &file, "--reason", "x"]).refused(2, &[part]);
    }
    let ran = done(&folder, &["list"]);
    assert!(ran.out.contains("main") && ran.out.contains("merge conflict"), "{ran:?}");
    let ran = done(&folder, &["save", "cut", &file, "--force"]);
    assert!(ran.err.contains("its history is lost"), "{ran:?}");
    done(&folder, &["rm", "merge"]);
}

#[test]
fn the_store_is_that_of_the_nearest_folder_above_or_the_one_named() {
    let folder = Folder::new();
    let file = folder.at(&runs(&folder, "a.ndjson", ""));
    std::fs::create_dir_all(folder.path().join(".agenteval")).unwrap();
    std::fs::create_dir_all(folder.path().join("deep/down")).unwrap();
    let mut command = agenteval();
    command.current_dir(folder.path().join("deep/down")).args(["baseline", "save", "main", &file]);
    let ran = Ran::of(&mut command);
    assert!(ran.code == 0 && ran.out.contains(".agenteval"), "{ran:?}");
    assert!(folder.path().join(".agenteval/baselines/main.json").exists());
    done(&folder, &["save", "main", &file, "--store", "elsewhere/store"]);
    assert!(folder.path().join("elsewhere/store/main.json").exists());
    done(&folder, &["show", "main", "--store", "elsewhere/store"]);
    within(&folder, &["list", "--store", &file]).refused(2, &["it is no folder"]);
}

#[test]
fn blessing_keeps_a_history_and_a_ratchet_is_warned_of() {
    let folder = Folder::new();
    let [low, mid, high] = [5, 6, 7].map(|n| rated(&folder, &format!("r{n}.ndjson"), n));
    done(&folder, &["save", "main", &low]);
    let first = done(&folder, &["show", "main", "--output", "json"]).json();
    let ran = done(&folder, &["bless", "main", &mid, "--reason", "one", "--by", "me"]);
    assert!(!ran.err.contains("best_of_many"), "{ran:?}");
    let ran = done(&folder, &["bless", "main", &high, "--reason", "two"]);
    assert!(ran.err.contains("best_of_many") && ran.err.contains("--pool"), "{ran:?}");
    let shown = done(&folder, &["show", "main", "--output", "json"]).json();
    let history = shown["history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!((&history[0]["reason"], &history[0]["by"]), (&"one".into(), &"me".into()));
    assert_eq!(history[0]["previous"], first["sha256"]);
    assert_eq!((&history[0]["completed"], &history[0]["ended"]), (&5.into(), &10.into()));
    assert_eq!(history[1]["by"], Value::Null, "nobody is named who was not given");
    // Once it has moved down it is no ratchet; `--force` counts as a move.
    let ran = done(&folder, &["save", "main", &low, "--force"]);
    assert!(!ran.err.contains("best_of_many"), "{ran:?}");
    let ran = done(&folder, &["bless", "main", &mid, "--reason", "three"]);
    assert!(!ran.err.contains("best_of_many"), "{ran:?}");
    assert!(done(&folder, &["show", "main"]).out.contains(": save --force\n"));
}

#[test]
fn blessing_under_other_rules_says_which() {
    let folder = Folder::new();
    let file = rated(&folder, "a.ndjson", 5);
    folder.file("c.json", r#"{"max_steps": 30}"#);
    done(&folder, &["save", "main", &file]);
    let args = ["bless", "main", &file, "-c", "c.json", "--reason", "limit"];
    let ran = done(&folder, &args);
    assert!(ran.err.contains("max_steps: none in the baseline, 30 now"), "{ran:?}");
    let other = rated(&folder, "b.ndjson", 6);
    within(&folder, &["save", "main", &other, "--pool"])
        .refused(2, &["max_steps: 30 in the baseline, none now"]);
}

#[test]
fn commit_and_time_are_those_given_else_of_the_environment_else_of_git() {
    let folder = Folder::new();
    let file = rated(&folder, "a.ndjson", 5);
    let save = |args: &[&str], env: &[(&str, &str)]| -> Value {
        let mut command = agenteval();
        command.current_dir(folder.path()).args(["baseline", "save", "main", &file, "--force"]);
        for name in ["GITHUB_SHA", "CI_COMMIT_SHA", "SOURCE_DATE_EPOCH"] {
            command.env_remove(name);
        }
        let ran = Ran::of(command.args(args).envs(env.iter().copied()));
        assert_eq!(ran.code, 0, "{ran:?}");
        serde_json::from_str::<Value>(&stored(&folder)).unwrap()["saves"][0].clone()
    };
    assert_eq!(save(&[], &[]), serde_json::json!({"save": 1, "runs": 10}));
    let env = [("GITHUB_SHA", "abc"), ("CI_COMMIT_SHA", "def"), ("SOURCE_DATE_EPOCH", "86400")];
    let both = save(&[], &env);
    assert_eq!((&both["commit"], &both["time"]), (&"abc".into(), &"1970-01-02T00:00:00Z".into()));
    let given = save(&["--commit", "123", "--time", "2026-01-31T12:00:00Z"], &env);
    assert_eq!((&given["commit"], &given["time"]), (&"123".into(), &"2026-01-31T12:00:00Z".into()));
    let commit = "0123456789abcdef0123456789abcdef01234567";
    folder.file(".git/HEAD", "ref: refs/heads/main\n");
    folder.file(".git/packed-refs", format!("{commit} refs/heads/main\n"));
    assert_eq!(save(&[], &[])["commit"], commit);
    within(&folder, &["save", "x", &file, "--time", "today"]).refused(2, &["RFC 3339"]);
    within(&folder, &["save", "x", &file, "--commit", "a b"]).refused(2, &["--commit"]);
}

#[test]
fn a_killed_save_leaves_the_old_file_whole() {
    let folder = Folder::new();
    let old = rated(&folder, "old.ndjson", 5);
    done(&folder, &["save", "main", &old]);
    let before = stored(&folder);
    let many: String = (0..5_000)
        .map(|at| format!(r#"{{"run_id": "r{at}", "task_id": "t{at}", "status": "completed", "steps": [{{"type": "tool"}}]}}"#) + "\n")
        .collect();
    folder.file("many.ndjson", many);
    // The whole of it once, to know what may be found and how long it takes.
    let start = std::time::Instant::now();
    let spawn = || {
        Command::new(env!("CARGO_BIN_EXE_agenteval"))
            .current_dir(folder.path())
            .args(["baseline", "save", "main", "many.ndjson", "--force", "--quiet"])
            .env_remove("SOURCE_DATE_EPOCH")
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    assert!(spawn().wait().unwrap().success());
    let whole = start.elapsed();
    let after = stored(&folder);
    let path = folder.at(".agenteval/baselines/main.json");
    for part in 1..=12_u32 {
        std::fs::write(&path, &before).unwrap();
        let mut child = spawn();
        std::thread::sleep(Duration::min(whole, Duration::from_secs(3)) * part / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        let found = stored(&folder);
        assert!(found == before || found == after, "killed at {part}/12: a file that is neither");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_store_is_not_written_through_and_rights_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let file = rated(&folder, "a.ndjson", 5);
    done(&folder, &["save", "main", &file]);
    let outside = folder.file("outside.json", "mine");
    std::os::unix::fs::symlink(&outside, folder.at(".agenteval/baselines/link.json")).unwrap();
    for force in [&["--force"][..], &[]] {
        let args = [&["save", "link", &file], force].concat();
        within(&folder, &args).refused(2, &["leads out of the store"]);
    }
    assert_eq!(read(&outside), "mine");
    let path = folder.at(".agenteval/baselines/main.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    done(&folder, &["bless", "main", &file, "--reason", "again"]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// Whatever a real trace counts must be readable again: the checks of reading are not stricter
/// than counting is.
#[test]
fn every_trace_that_is_evaluated_can_be_saved_and_shown() {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut places: Vec<std::path::PathBuf> = [
        "native",
        "checkpoints",
        "steplog",
        "otlp",
        "tau_bench",
        "inspect_ai",
        "claude_code",
        "damaged",
    ]
    .iter()
    .map(|name| root.join(name))
    .collect();
    if let Some(shared) = support::shared("data") {
        places.extend(std::fs::read_dir(shared).unwrap().map(|entry| entry.unwrap().path()));
    }
    places.sort();
    let mut saved = 0;
    for (at, place) in places.iter().enumerate() {
        let name = format!("b{at}");
        for extra in [&[][..], &["--where", "run.steps > 1"]] {
            let args =
                [&["save", &name, place.to_str().unwrap(), "--quiet", "--force"], extra].concat();
            let ran = within(&folder, &args);
            if ran.code == 0 {
                done(&folder, &["list"]);
                let shown = within(&folder, &["show", &name, "--output", "json"]);
                assert_eq!(shown.code, 0, "{}: {shown:?}", place.display());
                saved += 1;
            } else {
                assert!(matches!(ran.code, 2 | 4), "{}: {ran:?}", place.display());
            }
        }
    }
    let unreadable = done(&folder, &["list", "--output", "json"]).json();
    for listed in unreadable["baselines"].as_array().unwrap() {
        assert_eq!(listed["error"], Value::Null, "{listed}");
    }
    assert!(saved >= 14, "{saved} of {}", places.len());
}

#[test]
fn a_store_that_is_named_and_not_there_is_told() {
    let folder = Folder::new();
    for command in [&["list"][..], &["show", "main"], &["rm", "main"]] {
        within(&folder, &[command, &["--store", "typo"]].concat())
            .refused(2, &["typo", "there is no such folder", "agenteval baseline save"]);
    }
}

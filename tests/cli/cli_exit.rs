//! Exit codes and error texts through the program: never 0 on nothing, and every error tells what,
//! where and how to mend it.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::cli::{Folder, Ran, agenteval, fixture, report, run, run_with_input, warning};
use serde_json::json;

const RUN: &str = r#"{"run_id":"a","status":"completed","final":{"report":"x","accuracy":0.95},"steps":[{"type":"tool","status":"completed"}]}"#;

/// `analyze` on a file with this content.
fn analyzed(name: &str, content: impl AsRef<[u8]>) -> Ran {
    let folder = Folder::new();
    run(&["analyze", &folder.file(name, content)])
}

/// `analyze` on one sound run with this config.
fn configured(config: &str) -> Ran {
    let folder = Folder::new();
    let traces = folder.file("runs.ndjson", RUN);
    let config = folder.file("config.json", config);
    run(&["analyze", &traces, "-c", &config])
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        out.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        out.write_all(content).unwrap();
    }
    out.finish().unwrap().into_inner()
}

/// `n` runs, a line each.
fn many(n: usize) -> String {
    (0..n)
        .map(|i| format!("{{\"run_id\":\"r{i}\",\"status\":\"completed\",\"steps\":[{{\"type\":\"t{i}\"}}]}}\n"))
        .collect()
}

#[test]
fn input_without_a_run_is_exit_4_and_never_0() {
    for (name, content) in [
        ("runs.json", "[]"),
        ("runs.json", "[ ]\n"),
        ("runs.json", r#"{"traces":[]}"#),
        ("runs.json", r#"{"runs": []}"#),
        ("empty.json", ""),
        ("blank.json", "\n \r\n\t\n"),
        ("bom.json", "\u{FEFF}"),
        ("broken.json", r#"{"steps":[{"type":"t"#),
        ("broken.ndjson", "{\"steps\":[\n{\"steps\":7}\n{\"steps\":[{}]}\n"),
    ] {
        for form in ["table", "json", "csv", "ndjson", "markdown"] {
            let folder = Folder::new();
            let path = folder.file(name, content);
            let ran = run(&["analyze", &path, "--output", form]);
            ran.refused(4, &["no run was evaluated"]);
        }
        let ran = {
            let folder = Folder::new();
            run(&["inspect", &folder.file(name, content)])
        };
        assert_eq!(ran.code, 4, "inspect {content:?}: {ran:?}");
    }
}

#[test]
fn where_everything_is_broken_the_first_place_and_the_number_are_told() {
    let folder = Folder::new();
    let path = folder.file("r.ndjson", "{\"steps\":[\n{\"steps\":[{}]}\n");
    run(&["analyze", &path]).refused(4, &["records rejected: 2", &format!("{path}:1")]);
}

#[test]
fn a_folder_without_a_trace_is_exit_4() {
    let folder = Folder::new();
    run(&["analyze", folder.path().to_str().unwrap()]).refused(4, &["no file to read"]);
    folder.file("notes/readme.txt", "nothing here");
    folder.file("settings.json", r#"{"theme":"dark"}"#);
    run(&["analyze", folder.path().to_str().unwrap()]).refused(4, &["no trace among the files"]);
}

#[test]
fn a_folder_is_walked_and_what_is_no_trace_is_left_out_and_told() {
    let folder = Folder::new();
    folder.file("a/runs.ndjson", many(2));
    folder.file("b/more.json", format!("[{RUN}]"));
    folder.file("b/notes.txt", "nothing here");
    folder.file(".hidden/runs.ndjson", many(5));
    let report = report(&[folder.path().to_str().unwrap()]);
    assert_eq!(report["runs"]["total"], 3);
    let inputs = report["inputs"].as_array().unwrap();
    let left_out: Vec<_> = inputs.iter().filter(|input| input["left_out"].is_string()).collect();
    assert_eq!(left_out.len(), 1, "{inputs:#?}");
    assert!(left_out[0]["path"].as_str().unwrap().ends_with("notes.txt"));
}

#[test]
fn where_that_keeps_no_run_is_exit_4() {
    let traces = fixture("native/worked-example.json");
    let ran = run(&["analyze", &traces, "--where", "run.retries > 100"]);
    ran.refused(4, &["--where keeps none", "3"]);
}

#[test]
fn what_no_format_claims_is_exit_2_and_says_what_it_looks_like() {
    for (name, content, parts) in [
        ("a.json", &br#"{"theme":"dark","size":2}"#[..], &["`theme`", "`size`", "--map"][..]),
        ("a.json", b"[1, 2]", &["no format recognised"]),
        ("a.txt", b"hello\n", &["not JSON"]),
        ("a.bin", b"\x00\x01\x02\x03\x04", &["binary data"]),
        (
            "a.json",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n",
            &["git lfs pull"],
        ),
        ("a.json", b"\xFF\xFE[\x00]\x00", &["UTF-16", "UTF-8"]),
    ] {
        let ran = analyzed(name, content);
        ran.refused(2, &[&[name], parts].concat());
        assert_eq!(ran.err.lines().count(), 1, "one line: {}", ran.err);
    }
}

#[test]
fn a_path_that_is_not_there_is_exit_2_with_its_name() {
    let folder = Folder::new();
    run(&["analyze", &folder.at("no.json")]).refused(2, &["no.json", "no such file"]);
    run(&["analyze", &folder.at("*.ndjson")]).refused(2, &["*.ndjson", "matches no file"]);
    run(&["analyze", &folder.at("no/*/x.json")]).refused(2, &["matches no file"]);
    let sound = fixture("native/single.json");
    run(&["analyze", &sound, &folder.at("no.json")]).refused(2, &["no.json"]);
}

#[test]
fn unknown_names_get_the_nearest_one() {
    let traces = fixture("native/single.json");
    run(&["analyze", &traces, "--format", "nativ"]).refused(2, &["nativ", "did you mean `native`"]);
    run(&["analyze", &traces, "--format", "zzz"]).refused(2, &["zzz", "tau-bench"]);
    run(&["analyze", &traces, "--by", "modle"]).refused(2, &["did you mean `model`"]);
    run(&["explain", "final_completion_rat"]).refused(2, &["did you mean `final_completion_rate`"]);
    run(&["analyze", &traces, "--output", "jsn"]).refused(2, &["jsn"]);
    run(&["analyse", &traces]).refused(2, &["analyze"]);
    run(&["analyze"]).refused(2, &["PATH"]);
    run(&["analyze", &traces, "--threads", "0"]).refused(2, &["--threads"]);
    run(&["show", "nobody", &traces]).refused(2, &["nobody"]);
}

#[test]
fn a_wrong_config_is_exit_2_with_place_and_remedy() {
    for (config, parts) in [
        (r#"{"max_step": 20}"#, &["max_step", "max_steps", "config.json:1:2"][..]),
        (r#"{"evaluation": {"timeout": 6}}"#, &["timeout", "timeout_seconds", "/evaluation"]),
        (r#"{"max_steps": "20"}"#, &["max_steps", "config.json:1:15"]),
        (r#"{"max_steps": 2.5}"#, &["max_steps"]),
        (r#"{"max_steps": -1}"#, &["max_steps"]),
        (r#"{"metrics": ["final_completion_rat"]}"#, &["final_completion_rate", "/metrics/0"]),
        (r#"{"metrics": "all"}"#, &["metrics"]),
        (r#"{"thresholds": {"sucess_rate": {"min": 1}}}"#, &["success_rate"]),
        (r#"{"mid_run": {"from": 0.9, "to": 0.1}}"#, &["mid_run"]),
        (r#"{"max_steps": 20"#, &["config.json"]),
        ("", &["config.json"]),
        (r#"[]"#, &["config.json"]),
    ] {
        configured(config).refused(2, parts);
    }
    let traces = fixture("native/single.json");
    run(&["analyze", &traces, "-c", "no-such.json"]).refused(2, &["no-such.json"]);
}

#[test]
fn a_wrong_expression_is_exit_2_with_a_caret_under_its_fault() {
    for (expression, fault, parts) in [
        ("final.report != nul", "nul", &["final"][..]),
        ("final.report != null &&", "&&", &[]),
        ("final.accuracy = 0.9", "=", &["=="]),
        ("finl.accuracy >= 0.9", "finl", &["final"]),
        ("subtask.status == 'completed'", "subtask", &["final"]),
        ("sise(final.report) > 0", "sise", &["size"]),
    ] {
        let config = json!({"evaluation": {"final_passed": expression}}).to_string();
        let ran = configured(&config);
        ran.refused(2, &[&["final_passed"], parts].concat());
        let lines: Vec<&str> = ran.err.lines().collect();
        let caret = lines.iter().position(|line| line.contains('^'));
        let caret = caret.unwrap_or_else(|| panic!("no caret: {}", ran.err));
        let at = lines[caret].find('^').unwrap();
        let above = lines[caret - 1];
        let from = above.find(expression).unwrap_or_else(|| panic!("not shown: {}", ran.err));
        let wanted = from + expression.rfind(fault).unwrap();
        let end = from + expression.len();
        assert!((wanted..=end).contains(&at), "caret at {at}, wanted {wanted}: {}", ran.err);
    }
}

#[test]
fn a_wrong_where_is_exit_2_with_a_caret() {
    let traces = fixture("native/worked-example.json");
    for (filter, parts) in [
        ("run.retries >", &["^"][..]),
        ("runn.retries > 0", &["^", "run"]),
        ("final.report != null", &["^", "run"]),
        ("", &["--where"]),
    ] {
        run(&["analyze", &traces, "--where", filter]).refused(2, &[&["--where"], parts].concat());
    }
}

#[test]
fn a_field_of_run_that_does_not_exist_is_told_with_the_nearest_one() {
    let traces = fixture("native/worked-example.json");
    let ran = run(&["analyze", &traces, "--where", "run.retrys > 0 || run.steps > 0"]);
    assert!(ran.err.contains("run.retries"), "{ran:?}");
}

#[test]
fn a_field_that_is_absent_everywhere_is_exit_2_with_the_nearest_name() {
    let evaluation = |final_passed: &str, subtask: &str| {
        json!({"evaluation": {"final_passed": final_passed, "subtask_passed": subtask}}).to_string()
    };
    let passed = "subtask.status == 'completed'";
    configured(&evaluation("final.acuracy >= 0.9", passed))
        .refused(2, &["final.acuracy", "did you mean `final.accuracy`", "final_passed"]);
    configured(&evaluation("final.accuracy >= 0.9", "subtask.state == 'completed'"))
        .refused(2, &["subtask.state", "subtask_passed"]);
}

#[test]
fn a_field_that_may_be_absent_is_only_a_warning() {
    for (expression, what) in [
        ("final.error == null && final.accuracy >= 0.9", "compared with null"),
        ("!has(final.error) && final.accuracy >= 0.9", "tested with has"),
    ] {
        let config = json!({"evaluation": {"final_passed": expression}}).to_string();
        let ran = configured(&config);
        assert_eq!(ran.code, 0, "{what}: {ran:?}");
        assert!(ran.err.contains("final.error"), "{what}: {}", ran.err);
    }
    // Where no run has a `final`, its path cannot be a misspelt one.
    let folder = Folder::new();
    let traces = folder.file("r.json", r#"{"steps":[{"type":"t"}]}"#);
    let config = r#"{"evaluation":{"final_passed":"final.accuracy >= 0.9"}}"#;
    let config = folder.file("config.json", config);
    let report = report(&[&traces, "-c", &config]);
    assert_eq!(report["runs"]["failed"], 1);
    warning(&report, "field_absent");
}

#[test]
fn an_expression_that_never_holds_is_told_with_the_values_seen() {
    let config = r#"{"evaluation":{"subtask_passed":"subtask.status == 'complete'"}}"#;
    let ran = configured(config);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("is true for none"), "{}", ran.err);
    assert!(ran.err.contains("\"completed\""), "{}", ran.err);
}

#[test]
fn compressed_input_is_read_through() {
    let text = many(3);
    let zst = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let zip = zipped(&[("x/one.ndjson", text.as_bytes()), ("x/note.txt", b"nothing")]);
    for (name, content) in
        [("r.ndjson.gz", gz(text.as_bytes())), ("r.ndjson.zst", zst), ("r.zip", zip)]
    {
        let folder = Folder::new();
        // The contents tell, not the name.
        for name in [name, "plain.json"] {
            let report = report(&[&folder.file(name, &content)]);
            assert_eq!(report["runs"]["total"], 3, "{name}");
        }
    }
    let two = [gz(many(1).as_bytes()), gz(many(2).as_bytes())].concat();
    let folder = Folder::new();
    assert_eq!(report(&[&folder.file("r.gz", two)])["runs"]["total"], 3, "members in a row");
    let twice = zipped(&[("a.gz", &gz(many(2).as_bytes())), ("b.json", RUN.as_bytes())]);
    assert_eq!(report(&[&folder.file("r.zip", twice)])["runs"]["total"], 3, "gz inside of a zip");
}

#[test]
fn a_truncated_gz_gives_the_runs_before_the_cut_and_is_told() {
    let text = many(2_000);
    let whole = gz(text.as_bytes());
    let folder = Folder::new();
    let path = folder.file("r.gz", &whole[..whole.len() / 2]);
    let report = report(&[&path]);
    let runs = report["runs"]["total"].as_u64().unwrap();
    assert!(runs > 100 && runs < 2_000, "{runs}");
    let warned = warning(&report, "damaged_stream");
    assert!(warned["where"].as_str().unwrap().contains("r.gz"), "{warned}");
    // All bytes are there but for the checksum.
    let path = folder.file("end.gz", &whole[..whole.len() - 8]);
    let report = self::report(&[&path]);
    assert_eq!(report["runs"]["total"], 2_000);
    warning(&report, "damaged_stream");
    run(&["analyze", &folder.file("head.gz", &whole[..6])]).refused(4, &["head.gz"]);
}

#[test]
fn damaged_archives_are_an_error_that_names_the_file() {
    let folder = Folder::new();
    let whole = zipped(&[("one.ndjson", many(50).as_bytes())]);
    let path = folder.file("r.zip", &whole[..whole.len() / 2]);
    run(&["analyze", &path]).refused(2, &["r.zip", "damaged"]);
    let path = folder.file("r.zst", b"\x28\xB5\x2F\xFDnonsense");
    let ran = run(&["analyze", &path]);
    assert!(matches!(ran.code, 2 | 4), "{ran:?}");
    assert!(ran.err.contains("r.zst"), "{}", ran.err);
}

#[test]
fn several_paths_are_one_set_and_the_same_file_counts_once() {
    let folder = Folder::new();
    let one = folder.file("one.ndjson", many(2));
    let two = folder.file("two.ndjson", many(3));
    assert_eq!(report(&[&one, &two])["runs"]["total"], 5);
    let here = folder.path();
    let here = here.to_str().unwrap();
    for paths in [
        vec![one.as_str(), one.as_str(), two.as_str()],
        vec![one.as_str(), here],
        vec![here, one.as_str(), two.as_str()],
        vec![here, here],
    ] {
        let report = report(&paths);
        assert_eq!(report["runs"]["total"], 5, "{paths:?}");
        let told = report["inputs"].to_string();
        assert!(told.contains("given before"), "{paths:?}: {told}");
    }
    let glob = folder.at("*.ndjson");
    assert_eq!(report(&[&glob])["runs"]["total"], 5);
    let brackets = folder.file("run[1].ndjson", many(1));
    assert_eq!(report(&[&brackets])["runs"]["total"], 1, "a name is no glob if the file is there");
    warning(&report(&[&one, &two]), "duplicate_run_id");
}

#[test]
fn standard_input_is_a_path() {
    let ran = run_with_input(&["analyze", "-", "--output", "json"], many(3).as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["runs"]["total"], &report["inputs"][0]["path"]), (&json!(3), &json!("-")));
    let ran = run_with_input(&["analyze", "-", "--output", "json"], &gz(many(3).as_bytes()));
    assert_eq!(ran.json()["runs"]["total"], 3, "compressed");
    run_with_input(&["analyze", "-"], b"").refused(4, &["no run was evaluated"]);
    run_with_input(&["analyze", "-"], b"hello").refused(2, &["-: no format recognised"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_with_a_name_is_read_like_a_file() {
    for content in [many(3).into_bytes(), gz(many(3).as_bytes()), b"{\"steps\":[]}".to_vec()] {
        // What `analyze <(command)` of a shell hands over.
        let mut command = agenteval();
        command.args(["analyze", "/dev/stdin", "--output", "json"]).write_stdin(content);
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let folder = Folder::new();
    // More than a pipe holds: a group for every run.
    let runs: String = (0..400)
        .map(|i| format!("{{\"task_id\":\"t{i}\",\"status\":\"completed\",\"steps\":[]}}\n"))
        .collect();
    let path = folder.file("r.ndjson", runs);
    let mut child = Command::new(agenteval().get_program())
        .args(["analyze", &path, "--by", "task", "--output", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains("panic") && !told.contains("fault"), "{told}");
}

#[test]
fn an_ending_that_is_no_output_is_refused_before_any_work() {
    let traces = fixture("native/single.json");
    let folder = Folder::new();
    for name in ["out.docx", "out", "out."] {
        let path = folder.at(name);
        run(&["analyze", &traces, "-o", &path]).refused(2, &[name, ".json"]);
        assert!(!std::path::Path::new(&path).exists());
    }
    let fine = folder.at("fine.json");
    run(&["analyze", &traces, "-o", &fine, "-o", &folder.at("bad.docx")]).refused(2, &["bad.docx"]);
    assert!(!std::path::Path::new(&fine).exists(), "nothing is written");
    run(&["inspect", &traces, "--output", "csv"]).refused(2, &["csv"]);
}

#[test]
fn an_output_that_cannot_be_written_keeps_the_old_file() {
    let traces = fixture("native/single.json");
    let folder = Folder::new();
    run(&["analyze", &traces, "-o", &folder.at("no/such/out.json")])
        .refused(2, &["no/such/out.json", "cannot write"]);
    // A run that fails leaves what stood there.
    let old = folder.file("out.json", "the old one");
    run(&["analyze", &folder.file("empty.json", "[]"), "-o", &old]).refused(4, &[]);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "the old one");
    // One that succeeds replaces it whole, and leaves nothing else behind.
    let ran = run(&["analyze", &traces, "-o", &old]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(std::fs::read_to_string(&old).unwrap().starts_with('{'));
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["empty.json", "out.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_exit_2_and_not_a_crash() {
    let traces = fixture("native/single.json");
    run(&["analyze", &traces, "-o", "/dev/full"]).refused(2, &["/dev/full"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(agenteval().get_program())
        .args(["analyze", concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/native/single.json")])
        .stdout(full)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("standard output"), "{told}");
}

#[test]
fn results_go_to_standard_output_and_quiet_leaves_the_rest_away() {
    let folder = Folder::new();
    let path = folder.file("r.ndjson", format!("{RUN}\n{{\"steps\":[\n"));
    let loud = run(&["analyze", &path]);
    assert!(loud.err.contains("warning"), "{}", loud.err);
    let quiet = run(&["analyze", &path, "--quiet"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    assert_eq!(quiet.out, loud.out);
    let report = run(&["analyze", &path, "--quiet", "--output", "json"]).json();
    assert!(!report["warnings"].as_array().unwrap().is_empty(), "the report keeps them");
}

#[test]
fn a_config_in_this_folder_or_above_is_used_and_told() {
    let folder = Folder::new();
    let traces = folder.file("deep/down/r.ndjson", RUN);
    folder.file("agenteval.json", r#"{"task_name":"found","metrics":["avg_steps"]}"#);
    let below = folder.path().join("deep/down");
    let ran = Ran::of(agenteval().current_dir(&below).args(["analyze", &traces]));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("agenteval.json"), "{}", ran.err);
    assert!(ran.out.starts_with("found"), "{}", ran.out);
}

#[test]
fn help_and_version_are_exit_0() {
    for args in [&["--help"][..], &["analyze", "--help"], &["--version"], &["man"]] {
        let ran = run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(!ran.out.is_empty());
    }
    assert!(run(&["--version"]).out.contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(run(&["completions", "bash"]).code, 0);
    run(&["--nonsense"]).refused(2, &["--nonsense"]);
}

#[test]
fn a_file_that_is_read_is_never_written_over() {
    let folder = Folder::new();
    let traces = folder.file("r.ndjson", "{\"steps\":[{\"type\":\"tool\"}]}\n");
    let config = folder.file("c.json", "{\"task_name\":\"x\"}");
    for target in [&traces, &config] {
        let before = std::fs::read(target).unwrap();
        let ran = run(&["analyze", &traces, "-c", &config, "-o", target]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("read by the same command"), "{}", ran.err);
        assert_eq!(std::fs::read(target).unwrap(), before);
    }
}

#[test]
fn a_stray_line_of_another_format_does_not_take_over_a_file() {
    let folder = Folder::new();
    let run = "{\"steps\":[{\"type\":\"tool\"}]}\n";
    let stray = "{\"node_id\":\"x\",\"event\":\"start\",\"extra\":{}}\n";
    let traces = folder.file("r.ndjson", format!("{run}{run}{stray}"));
    let report = report(&[&traces]);
    assert_eq!(report["inputs"][0]["format"], "native");
    assert_eq!(
        (&report["runs"]["total"], &report["inputs"][0]["rejected"]),
        (&2.into(), &1.into())
    );
}

/// A folder with one sound run and some file of this content.
fn beside_a_run(name: &str, content: impl AsRef<[u8]>) -> (Folder, String) {
    let folder = Folder::new();
    folder.file("good.json", RUN);
    folder.file(name, content);
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn what_is_found_and_cannot_be_read_is_told_and_strict_stops_there() {
    let zip = zipped(&[("one.ndjson", many(50).as_bytes())]);
    let stored = |members: &[(&str, &str)]| {
        let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        for (name, content) in members {
            out.start_file(*name, options).unwrap();
            out.write_all(content.as_bytes()).unwrap();
        }
        out.finish().unwrap().into_inner()
    };
    let mut corrupt = stored(&[("a.json", RUN), ("b.json", "{\"steps\":[],\"mark\":1}")]);
    let at = corrupt.windows(4).position(|bytes| bytes == b"mark").unwrap();
    corrupt[at] = b'M';
    let mut twice = stored(&[("a.json", RUN), ("b.json", RUN)]);
    for at in 0..twice.len() - 6 {
        if &twice[at..at + 6] == b"b.json" {
            twice[at] = b'a';
        }
    }
    let inner = zipped(&[("in.zip", &zip)]);
    for (name, content, place, runs) in [
        ("half.zip", zip[..zip.len() / 2].to_vec(), "half.zip", 1),
        ("head.gz", b"\x1F\x8B\xFF\xFF....".to_vec(), "head.gz", 1),
        ("corrupt.zip", corrupt, "corrupt.zip/b.json", 2),
        ("outer.zip", inner, "outer.zip/in.zip", 1),
        ("twice.zip", twice, "twice.zip", 2),
    ] {
        let (_folder, path) = beside_a_run(name, content);
        let report = report(&[&path]);
        assert_eq!(report["runs"]["total"], runs, "{name}");
        let warned = warning(&report, "unreadable_input");
        assert!(warned["where"].as_str().unwrap().ends_with(place), "{warned}");
        run(&["analyze", &path, "--strict"]).refused(2, &[place, "--strict"]);
    }
    let (_folder, path) = beside_a_run("notes.txt", "no trace, and no damage");
    let ran = run(&["analyze", &path, "--strict"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.err.contains("unreadable_input"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_opens_and_cannot_be_read_is_told() {
    // A file of the kernel whose start nobody may read; the root may read any other.
    let mut mem = std::fs::File::open("/proc/self/mem").unwrap();
    assert!(mem.read(&mut [0; 4]).is_err());
    let folder = Folder::new();
    let good = folder.file("good.json", RUN);
    let report = report(&[&good, "/proc/self/me[m]"]);
    assert_eq!(report["runs"]["total"], 1);
    assert_eq!(warning(&report, "unreadable_input")["where"], "/proc/self/mem");
    run(&["analyze", &good, "/proc/self/me[m]", "--strict"])
        .refused(2, &["cannot read /proc/self/mem", "--strict"]);
    run(&["analyze", "/proc/self/me[m]"]).refused(4, &["/proc/self/mem"]);
}

#[test]
fn a_zip_archive_on_standard_input_is_refused_with_the_remedy() {
    let zip = zipped(&[("one.ndjson", RUN.as_bytes())]);
    let parts = ["a zip archive cannot be read from standard input: give it as a file"];
    run_with_input(&["analyze", "-"], &zip).refused(2, &parts);
}

#[test]
fn a_glob_finds_what_its_parts_reach_and_no_more() {
    let folder = Folder::new();
    folder.file("r.ndjson", many(1));
    folder.file("a/r.ndjson", many(2));
    folder.file("a/b/r.ndjson", many(4));
    for (pattern, runs) in [
        ("*.ndjson", 1),
        ("*/*.ndjson", 2),
        ("a/*.ndjson", 2),
        ("*/b/*.ndjson", 4),
        ("{a,a/b}/*.ndjson", 6),
        ("**/*.ndjson", 7),
        ("a/**/*.ndjson", 6),
    ] {
        assert_eq!(report(&[&folder.at(pattern)])["runs"]["total"], runs, "{pattern}");
    }
}

#[cfg(unix)]
#[test]
fn a_glob_does_not_walk_what_it_cannot_match() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.file("r.ndjson", many(1));
    folder.file("shut/deep/r.ndjson", many(1));
    let shut = folder.path().join("shut");
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The root may list it all the same; anyone else is told of it only if it is walked.
    let report = report(&[&folder.at("*.ndjson")]);
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((&report["runs"]["total"], &report["warnings"]), (&json!(1), &json!([])));
}

#[cfg(target_os = "linux")]
#[test]
fn a_plan_or_sheet_without_an_end_is_refused_at_once() {
    let traces = fixture("native/plain.json");
    let start = std::time::Instant::now();
    run(&["analyze", &traces, "--plan", "/dev/zero"]).refused(2, &["the plan has", "at most"]);
    let folder = Folder::new();
    let key = folder.file("key.json", "{}");
    run(&["review", "score", "/dev/zero", "--key", &key]).refused(2, &["key.json"]);
    run(&["review", "score", &key, "--key", "/dev/zero"]).refused(2, &["too large"]);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn a_folder_that_is_not_there_is_told_without_the_name_of_a_draft() {
    let traces = fixture("native/plain.json");
    let folder = Folder::new();
    let to = folder.at("none/x.json");
    for args in [&["analyze", &traces, "-o", &to][..], &["convert", &traces, "-o", &to]] {
        let ran = run(args);
        ran.refused(2, &["there is no folder", "make it first"]);
        assert!(!ran.err.contains("at path"), "{ran:?}");
    }
}

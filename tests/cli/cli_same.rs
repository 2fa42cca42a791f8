//! The same input gives the same bytes: on any number of threads, in any order of files, and from
//! any compression.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::cli::{Folder, Ran, agenteval, report, run};
use serde_json::Value;

/// One run of several steps, one of them retried, with what the figures are taken from.
const RUN: &str = r#"{"run_id":"run-ID","task_id":"task-TASK","trial":"TRIAL","agent":"desk","model":"m-MODEL","tags":{"branch":"main"},"status":"STATUS","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:SECONDSZ","final":{"report":"paid","accuracy":0.9},"steps":[{"step_id":"read","attempt":1,"type":"tool","name":"read_invoice","status":"completed","input":{"page":ID,"text":"the second page of an invoice with several lines"},"output":"line one: 12.00 EUR; line two: 30.00 EUR; a note on delivery that no figure reads","error":null,"duration_ms":1200,"tokens":{"prompt":9ID,"completion":80},"cost_usd":0.00ID},{"step_id":"book","attempt":1,"type":"tool","name":"book","status":"failed","input":{"sum":42},"error":{"type":"KIND","message":"no answer of the ledger after 30 s"},"duration_ms":30000},{"step_id":"book","attempt":2,"type":"tool","name":"book","status":"completed","input":{"sum":42},"error":null,"duration_ms":900},{"type":"llm","name":"answer","status":"completed","output":"all is booked","tokens":{"prompt":500,"completion":120},"cost_usd":0.004}]}"#;

/// The run as the `id`th, with its variations.
fn varied(id: usize) -> String {
    RUN.replace("ID", &id.to_string())
        .replace("TASK", &(id % 97).to_string())
        .replace("TRIAL", &(id / 97).to_string())
        .replace("MODEL", &(id % 3).to_string())
        .replace("STATUS", ["completed", "failed", "completed", "running"][id % 4])
        .replace("SECONDS", &format!("{:02}", id % 59))
        .replace("KIND", ["timeout", "schema", "数据错误"][id % 3])
}

/// Lines of runs, with a broken one here and there, up to about this many bytes.
fn lines(bytes: usize, from: usize) -> String {
    let mut text = String::with_capacity(bytes + 4096);
    for id in from.. {
        if text.len() >= bytes {
            break;
        }
        writeln!(text, "{}", varied(id)).unwrap();
        if id % 500 == 499 {
            text.push_str("{\"run_id\":\"cut\",\"steps\":[{\"type\":\n");
        }
    }
    text
}

/// What every form says of a file, and the rest that is told.
#[track_caller]
fn all_forms(args: &[&str]) -> Vec<(String, String)> {
    ["table", "json"]
        .into_iter()
        .map(|form| {
            let ran = run(&[&["analyze"], args, &["--output", form]].concat());
            assert_eq!(ran.code, 0, "{}", ran.err);
            (ran.out, ran.err)
        })
        .collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", lines(10_000_000, 0));
    let config = folder.file(
        "config.json",
        r#"{"evaluation":{"final_passed":"final.report != null && final.acuracy2 != null || final.accuracy >= 0.9",
            "subtask_passed":"subtask.status == 'completed'","max_retry_per_step":3},"limits":{"max_total_tokens":80000}}"#,
    );
    let told =
        |threads: &str| all_forms(&[&path, "-c", &config, "--by", "model", "--threads", threads]);
    let one = told("1");
    let report: Value = serde_json::from_str(&one[1].0).unwrap();
    assert!(report["runs"]["total"].as_u64() > Some(5_000), "{}", report["runs"]);
    assert!(report["inputs"][0]["rejected"].as_u64() > Some(5), "{}", report["inputs"]);
    for threads in ["2", "8"] {
        for (one, other) in one.iter().zip(told(threads)) {
            let (first, second) = (&one.0, &other.0);
            assert!(*one == other, "{threads} threads differ from one:\n{first}\n{second}");
        }
    }
    let path = folder.file("fewer.ndjson", lines(1_000_000, 0));
    for command in [&["inspect"][..], &["explain", "step_error_rate"]] {
        let told = |threads: &str| {
            let args = [command, &[&path, "--output", "json", "--threads", threads]].concat();
            run(&args).out
        };
        assert!(told("1") == told("8"), "{command:?}");
    }
}

#[test]
fn a_folder_of_small_files_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    for id in 0..150 {
        let run = varied(id);
        let step = run.replace("\"error\":null", "\"err\":null").replace("steps", "stps");
        let (name, text) = match id % 10 {
            0 => ("txt", "no trace at all\n".to_owned()),
            1 => ("json", format!("[{run},\n{}", varied(id + 1_000))),
            2 => ("json", format!("\u{feff}{run}\n{}", run.replace("failed", "fai"))),
            3 => ("json", run.replace("\"steps\":[", "\"steps\":[],\"steps\":[")),
            4 => ("json", run.replace("},{", "],{")),
            5 => ("json", format!("{{\"runs\":[{run}]}}")),
            6 => ("json", String::new()),
            7 => ("json", format!("{}{step}\n{}", "{\"x\":1]}\n \"y\":2}\n", "{\"cut")),
            8 => ("json", run.replace("duration_ms", "durationms").replace("status", "staus")),
            _ => ("json", lines(20_000, id * 50)),
        };
        folder.file(&format!("traces/{id:03}.{name}"), text);
    }
    folder.file("traces/large.ndjson", lines(700_000, 9_000));
    let packed = std::fs::File::create(folder.at("traces/packed.json.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all(lines(30_000, 20_000).as_bytes()).unwrap();
    packed.finish().unwrap();
    let traces = folder.at("traces");
    let told = |threads: &str| {
        [&["analyze"][..], &["inspect"]].map(|command| {
            let args = [command, &[&traces, "--output", "json", "--threads", threads]].concat();
            let ran = run(&args);
            (ran.code, ran.out, ran.err)
        })
    };
    let one = told("1");
    assert!(one[0].1.contains("misspelt_key") || one[0].2.contains("did you mean"), "{}", one[0].2);
    for threads in ["2", "8"] {
        assert!(one == told(threads), "{threads} threads say otherwise than one");
    }
    // In one pass over single files nothing is looked at ahead either.
    for name in ["003.json", "004.json", "007.json", "008.json"] {
        let beside = [folder.at(&format!("traces/{name}")), folder.at("traces/009.json")];
        let told = |threads: &str| {
            run(&["inspect", &beside[0], &beside[1], "--output", "json", "--threads", threads])
        };
        assert_eq!(told("1").out, told("2").out, "{name}");
    }
}

#[test]
fn standard_input_is_no_file_of_its_name() {
    let folder = Folder::new();
    folder.file("-", varied(1));
    folder.file("other.ndjson", varied(2));
    let told = |threads: &str| {
        let mut command = agenteval();
        command.current_dir(folder.at("."));
        command.args(["inspect", "-", "other.ndjson", "--output", "json", "--threads", threads]);
        let ran = Ran::of(command.write_stdin(lines(4_000, 10)));
        serde_json::from_str::<Value>(&ran.out).unwrap()["runs"].clone()
    };
    assert_eq!(told("1"), told("2"));
    assert!(told("2").as_u64() > Some(2), "{}", told("2"));
}

#[test]
fn an_array_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    let runs: Vec<String> = (0..3_000).map(varied).collect();
    let path = folder.file("runs.json", format!("[{}]", runs.join(",\n")));
    let one = all_forms(&[&path, "--threads", "1"]);
    assert!(one == all_forms(&[&path, "--threads", "8"]), "8 threads say otherwise than one");
    // Framing does not change a figure.
    let lines = folder.file("runs.ndjson", runs.join("\n"));
    let (array, lines) = (report(&[&path]), report(&[&lines]));
    for part in ["runs", "metrics", "distributions", "tasks", "retries"] {
        assert_eq!(array[part], lines[part], "{part}");
    }
}

/// What a command says, and what it wrote.
fn said(args: &[&str], written: &[&str]) -> (i32, String, String, Vec<Vec<u8>>) {
    let ran = Ran::of(agenteval().args(args).env_remove("GITHUB_ACTIONS"));
    let files = written.iter().map(|path| std::fs::read(path).unwrap_or_default()).collect();
    (ran.code, ran.out, ran.err, files)
}

#[test]
fn every_command_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    // More than one batch of records, so that threads do share them.
    let before = folder.file("before.ndjson", lines(150_000, 0));
    let after = folder.file("after.ndjson", lines(150_000, 1_001));
    // Resampling is no matter of threads, and takes its time without optimisation.
    let config =
        folder.file("c.json", r#"{"metrics":["final_completion_rate","step_error_rate"]}"#);
    let store = folder.at("store");
    let saved = run(&["baseline", "save", "main", &before, "--store", &store, "-q", "-c", &config]);
    assert_eq!(saved.code, 0, "{saved:?}");
    let out = folder.at("out");
    let at = |name: &str| format!("{out}/{name}");
    let (page, chart, plain, native, atif) =
        (at("page.html"), at("chart.svg"), at("r.md"), at("r.ndjson"), at("atif.json"));
    let library = at("library");
    let baseline = ["--baseline", "main", "--store", store.as_str(), "-c", config.as_str()];
    let with = |args: &[&str]| [args, &baseline].concat().iter().map(ToString::to_string).collect();
    let just = |args: &[&str]| -> Vec<String> { args.iter().map(ToString::to_string).collect() };
    let commands: Vec<(Vec<String>, Vec<&str>)> = vec![
        (just(&["analyze", &after, "-c", &config, "--by", "model", "-o", &plain]), vec![&plain]),
        (just(&["inspect", &after, "--output", "json"]), vec![]),
        (just(&["diagnose", &after, "--output", "json"]), vec![]),
        (just(&["horizon", &after, "--output", "json"]), vec![]),
        (just(&["compare", &before, &after, "-c", &config, "--output", "json"]), vec![]),
        (with(&["gate", &after, "--output", "json"]), vec![]),
        (with(&["report", &after, "--include-content", "-o", &page]), vec![&page]),
        (just(&["chart", "survival", &after, "-o", &chart]), vec![&chart]),
        (just(&["failures", "collect", &after, "--store", &library, "--output", "json"]), vec![]),
        (just(&["convert", &after, "-o", &native]), vec![&native]),
        (just(&["convert", &after, "--to", "atif", "-o", &atif]), vec![&atif]),
    ];
    for (args, written) in commands {
        let on = |threads: &str| {
            std::fs::remove_dir_all(&out).ok();
            std::fs::create_dir(&out).unwrap();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            said(&[&args[..], &["--threads", threads]].concat(), &written)
        };
        let one = on("1");
        assert!(one.0 != 70 && (one.0 != 2), "{args:?}: {one:?}");
        assert!(one.3.iter().all(|file| file.len() > 100), "{args:?} wrote nothing: {one:?}");
        for threads in ["2", "8"] {
            assert!(on(threads) == one, "{threads} threads say otherwise: {args:?}");
        }
    }
}

#[test]
fn all_fixtures_together_give_the_same_bytes_on_any_number_of_threads() {
    for args in [
        &["analyze", "fixtures", "--output", "json", "--by", "format"][..],
        &["inspect", "fixtures", "--output", "json"],
        &["diagnose", "fixtures", "--output", "json"],
        &["horizon", "fixtures", "--output", "json"],
        &["convert", "fixtures", "--to", "ndjson"],
    ] {
        let on = |threads: &str| said(&[args, &["--threads", threads]].concat(), &[]);
        let one = on("1");
        assert!([0, 2].contains(&one.0), "{args:?}: {one:?}");
        assert!(on("8") == one, "8 threads say otherwise: {args:?}");
    }
}

/// Parts of a report that say something of runs, and nothing of the files they lie in.
const PARTS: [&str; 6] = ["runs", "tasks", "retries", "metrics", "distributions", "groups"];

#[test]
fn forms_that_files_are_converted_into_have_the_figures_of_their_source() {
    let folder = Folder::new();
    let source = folder.file("runs.ndjson", (0..120).map(varied).collect::<Vec<_>>().join("\n"));
    let by = |path: &str| report(&[path, "--by", "model"]);
    let wanted = by(&source);
    let mut last = source;
    // Each is made of the one before it.
    for (name, form) in [
        ("a.json", "native"),
        ("b.ndjson", "ndjson"),
        ("c.json", "atif"),
        ("d.ndjson", "ndjson"),
        ("e.json", "atif"),
        ("f.json", "native"),
    ] {
        let to = folder.at(name);
        let ran = run(&["convert", &last, "--to", form, "-o", &to, "-q"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let report = by(&to);
        for part in PARTS {
            assert_eq!(report[part], wanted[part], "{name}: {part}");
        }
        last = to;
    }
}

#[test]
fn the_same_command_gives_the_same_bytes_again() {
    let folder = Folder::new();
    let path = folder.file("runs.ndjson", lines(400_000, 0));
    assert!(all_forms(&[&path, "--by", "task"]) == all_forms(&[&path, "--by", "task"]));
}

#[test]
fn compression_does_not_change_a_figure() {
    let folder = Folder::new();
    let text = lines(1_500_000, 0);
    let plain = report(&[&folder.file("runs.ndjson", &text)]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("runs.ndjson", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(text.as_bytes()).unwrap();
    for (name, bytes) in [
        ("runs.gz", gz.finish().unwrap()),
        ("runs.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ("runs.zip", zip.finish().unwrap().into_inner()),
    ] {
        let packed = report(&[&folder.file(name, bytes)]);
        for part in ["runs", "metrics", "distributions", "tasks", "retries"] {
            assert_eq!(packed[part], plain[part], "{name}: {part}");
        }
        for part in ["format", "runs", "steps", "attempts", "rejected"] {
            assert_eq!(packed["inputs"][0][part], plain["inputs"][0][part], "{name}: {part}");
        }
    }
    let stdin = Ran::of(agenteval().args(["analyze", "-", "--output", "json"]).write_stdin(text));
    assert_eq!(stdin.json()["metrics"], plain["metrics"], "standard input");
}

#[test]
fn the_order_of_files_does_not_change_a_figure() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..4)
        .map(|part| folder.file(&format!("{part}.ndjson"), lines(100_000, part * 1_000)))
        .collect();
    let in_order = |order: [usize; 4]| {
        let paths: Vec<&str> = order.iter().map(|at| parts[*at].as_str()).collect();
        report(&[&paths[..], &["--by", "task"]].concat())
    };
    let first = in_order([0, 1, 2, 3]);
    for order in [[3, 2, 1, 0], [2, 0, 3, 1]] {
        let other = in_order(order);
        for part in ["runs", "metrics", "distributions", "tasks", "retries", "groups"] {
            assert_eq!(first[part], other[part], "{part} in the order {order:?}");
        }
    }
    let folder_path = folder.path();
    let walked = report(&[folder_path.to_str().unwrap(), "--by", "task"]);
    assert_eq!(walked["metrics"], first["metrics"], "a folder is the set of its files");
}

#[test]
fn an_array_is_read_as_the_same_runs_in_lines_are() {
    let folder = Folder::new();
    let lines: Vec<String> = (0..6_000).map(varied).collect();
    let figures = |name: &str, text: String| {
        let mut report = report(&[&folder.file(name, text), "--threads", "2"]);
        report["inputs"][0]["path"] = Value::Null;
        report
    };
    let of_lines = figures("runs.ndjson", lines.join("\n"));
    assert_eq!(of_lines["runs"]["total"], 6_000);
    assert_eq!(of_lines, figures("runs.json", format!("[{}]", lines.join(", "))));
    let pretty = |line: &String| {
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(line).unwrap()).unwrap()
    };
    let values: Vec<String> = lines.iter().map(pretty).collect();
    let pretty = figures("pretty.json", format!("[\n{}\n]", values.join(",\n")));
    assert_eq!(of_lines["metrics"], pretty["metrics"]);
}

#[test]
fn many_small_files_give_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    for id in 0..600 {
        let text = match id % 50 {
            17 => "{\"run_id\":\"cut\",\"steps\":[{\"type\":".to_owned(),
            18 => format!("[{}, {}", varied(id), varied(id + 1_000)),
            19 => "no trace at all".to_owned(),
            20 => varied(id).replace("\"attempt\":2", "\"atempt\":2"),
            _ => varied(id),
        };
        folder.file(&format!("runs/run-{id:04}.json"), text);
    }
    let path = folder.at("runs");
    let told = |threads: &str| all_forms(&[&path, "--threads", threads]);
    let one = told("1");
    assert!(one[1].1.contains("truncated_array"), "{}", one[1].1);
    for threads in ["2", "8"] {
        assert!(one == told(threads), "{threads} threads differ from one");
    }
}

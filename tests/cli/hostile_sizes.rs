//! Input that is built to cost time or memory, or to break what is shown: bombs, long streams, huge
//! records, names and links, expressions and patterns. Each ends soon, within bounded memory, and says
//! what was left out.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli;
use crate::cli::{Folder, Ran, run, warning};
use serde_json::{Value, json};

/// What a run of the program gave and took.
struct Took {
    ran: Ran,
    time: Duration,
    /// The most memory it had, in MB; `None` where the system does not tell.
    peak: Option<u64>,
}

impl Took {
    #[track_caller]
    fn within(&self, seconds: u64, megabytes: u64) -> &Self {
        assert!(self.time.as_secs() < seconds, "{:?}", self.time);
        assert!(self.peak.is_none_or(|peak| peak < megabytes), "{:?} MB", self.peak);
        self
    }
}

/// The most memory that a process had so far, in MB, without the pages of its own file: those of an
/// unoptimised build with all features are more than what is bounded here.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    Some(kilobytes("VmHWM:")?.saturating_sub(kilobytes("RssFile:")?) / 1000)
}

/// Runs the program, with standard input written by `write`, and watches its memory.
fn watched(args: &[&str], write: impl FnOnce(&mut dyn std::io::Write) + Send) -> Took {
    let folder = Folder::new();
    let (out, err) = (folder.at("out"), folder.at("err"));
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_agenteval"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut most = None;
    std::thread::scope(|scope| {
        scope.spawn(move || write(&mut input));
        while child.try_wait().unwrap().is_none() {
            most = peak(&child).max(most);
            std::thread::sleep(Duration::from_millis(3));
        }
    });
    let ended = child.wait().unwrap();
    let text = |path: &str| std::fs::read_to_string(path).unwrap();
    let code = ended.code().expect("ended by itself, not by a signal");
    Took { ran: Ran { code, out: text(&out), err: text(&err) }, time: began.elapsed(), peak: most }
}

fn without_input(args: &[&str]) -> Took {
    watched(args, |_| ())
}

const RUN: &str = r#"{"run_id":"a","status":"completed","steps":[{"type":"tool","name":"a"}]}"#;

/// A raw deflate stream of this many megabytes of zeros: one compressed block, again and again.
fn zeros(megabytes: usize) -> Vec<u8> {
    let mut one = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    one.write_all(&vec![0; 1 << 20]).unwrap();
    one.flush().unwrap();
    let block = one.get_ref().clone();
    // An empty last block ends the stream.
    [block.repeat(megabytes), vec![3, 0]].concat()
}

/// A zip archive whose members are given as deflated; two of the same text share their bytes if `overlap`.
fn zip_of(members: &[(&str, &[u8], u32)], overlap: bool) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    let mut first = None;
    for (name, data, size) in members {
        let head = |length: u32| {
            let sizes = [0_u32, length, *size].map(u32::to_le_bytes).concat();
            let name_length = u16::try_from(name.len()).unwrap().to_le_bytes();
            [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], &sizes, &name_length, &[0, 0]].concat()
        };
        let length = u32::try_from(data.len()).unwrap();
        let at = match first.filter(|_| overlap) {
            Some(at) => at,
            None => {
                let at = u32::try_from(out.len()).unwrap();
                out.extend_from_slice(b"PK\x03\x04");
                out.extend_from_slice(&head(length));
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(data);
                at
            }
        };
        first = first.or(Some(at));
        list.extend_from_slice(b"PK\x01\x02\x14\x00");
        list.extend_from_slice(&head(length));
        list.extend_from_slice(&[0; 10]);
        list.extend_from_slice(&at.to_le_bytes());
        list.extend_from_slice(name.as_bytes());
    }
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    let sizes = [list.len(), out.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes()).concat();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &sizes, &[0, 0]].concat();
    [out, list, end].concat()
}

fn deflated(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn a_zip_of_gigabytes_of_zeros_costs_only_a_look_at_each_member() {
    let bomb = zeros(1_000);
    assert!(bomb.len() < 2_000_000, "a thousandth: {}", bomb.len());
    let run_member = deflated(RUN.as_bytes());
    let crc = |text: &str| {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        crc.sum()
    };
    let members: Vec<(String, &[u8], u32)> =
        (0..3).map(|at| (format!("z{at}.json"), &bomb[..], 1_048_576_000)).collect();
    let mut members: Vec<(&str, &[u8], u32)> =
        members.iter().map(|(name, data, size)| (name.as_str(), *data, *size)).collect();
    members.push(("runs.ndjson", &run_member, u32::try_from(RUN.len()).unwrap()));
    let mut zip = zip_of(&members, false);
    // The sum of the one member that is read to its end must be right.
    for mark in [&b"PK\x03\x04"[..], b"PK\x01\x02"] {
        let at = memchr::memmem::rfind(&zip, mark).unwrap();
        let at = at + if mark[2] == 3 { 14 } else { 16 };
        zip[at..at + 4].copy_from_slice(&crc(RUN).to_le_bytes());
    }
    let folder = Folder::new();
    let path = folder.file("bomb.zip", zip);
    let took = without_input(&["inspect", &path, "--output", "json"]);
    assert_eq!(took.ran.code, 0, "{:?}", took.ran);
    took.within(180, 100);
    let told = took.ran.json();
    let inputs = told["inputs"].as_array().unwrap();
    assert_eq!(inputs.iter().filter(|input| input["runs"] == 1).count(), 1);
    let left_out =
        |input: &&Value| input["left_out"].as_str().is_some_and(|why| why.contains("binary"));
    assert_eq!(inputs.iter().filter(left_out).count(), 3, "{inputs:#?}");
}

#[test]
fn a_zip_whose_members_share_their_bytes_is_refused() {
    let member = deflated(RUN.as_bytes());
    let size = u32::try_from(RUN.len()).unwrap();
    let names: Vec<String> = (0..2_000).map(|at| format!("{at}.json")).collect();
    let members: Vec<(&str, &[u8], u32)> =
        names.iter().map(|name| (name.as_str(), &member[..], size)).collect();
    let folder = Folder::new();
    let path = folder.file("overlap.zip", zip_of(&members, true));
    run(&["analyze", &path]).refused(2, &["overlap.zip", "its members overlap"]);
    let beside = folder.file("run.json", RUN);
    assert!(Path::new(&beside).exists());
    let whole = folder.path();
    let told = cli::report(&[whole.to_str().unwrap()]);
    assert_eq!(told["runs"]["total"], 1);
    assert!(warning(&told, "unreadable_input")["message"].as_str().unwrap().contains("overlap"));
}

#[test]
fn a_zip_in_a_zip_in_a_zip_is_told_and_not_followed() {
    let mut inner = RUN.as_bytes().to_vec();
    for depth in 0..20 {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(if depth == 0 { "run.json" } else { "in.zip" }, options).unwrap();
        zip.write_all(&inner).unwrap();
        zip.start_file("beside.json", options).unwrap();
        zip.write_all(RUN.as_bytes()).unwrap();
        inner = zip.finish().unwrap().into_inner();
    }
    let folder = Folder::new();
    let told = cli::report(&[&folder.file("nested.zip", inner)]);
    assert_eq!(told["runs"]["total"], 1, "the one beside the inner archive");
    let why = warning(&told, "unreadable_input");
    assert!(why["message"].as_str().unwrap().contains("an archive inside an archive"), "{why}");
}

#[test]
fn a_gz_of_a_gigabyte_of_zeros_is_refused_at_its_start() {
    let gz = [&[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3][..], &zeros(1_000), &[0; 8]].concat();
    let folder = Folder::new();
    let took = without_input(&["analyze", &folder.file("zeros.gz", gz)]);
    took.within(90, 60);
    took.ran.refused(2, &["zeros.gz", "binary data"]);
    let nested = (0..5).fold(RUN.as_bytes().to_vec(), |inner, _| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&inner).unwrap();
        gz.finish().unwrap()
    });
    run(&["analyze", &folder.file("nested.gz", nested)]).refused(2, &["nested.gz", "binary data"]);
}

#[test]
fn forty_thousand_tiny_runs_from_standard_input() {
    let runs = 40_000;
    let took = watched(&["analyze", "-", "--output", "json"], |input| {
        for id in 0..runs {
            writeln!(input, r#"{{"run_id":{id},"steps":[{{"type":"t"}}]}}"#).unwrap();
        }
    });
    assert_eq!(took.ran.code, 0, "{:?}", took.ran);
    assert_eq!(took.ran.json()["runs"]["total"], runs);
    // A block, and a row a run.
    took.within(180, 48 + runs / 1_000);
}

#[test]
fn one_record_of_20_megabytes() {
    let step = |text: &str| format!(r#"{{"type":"tool","output":"{text}"}}"#);
    let steps = vec![step(&"x".repeat(20_000)); 1_000].join(",");
    let text = format!("{RUN}\n{{\"run_id\":\"long\",\"steps\":[{steps}]}}\n{RUN}\n");
    let folder = Folder::new();
    let took = without_input(&["analyze", &folder.file("long.ndjson", text), "--output", "json"]);
    assert_eq!(took.ran.json()["inputs"][0]["attempts"], 1_002);
    took.within(180, 2 * 20 + 48);
}

#[test]
fn brackets_that_are_opened_by_the_million_are_refused_within_bounded_memory() {
    // Damaged records are rewritten, which keeps what is open: some hundred bytes a bracket.
    let open = format!("{{\"steps\":[{{\"type\":\"t\",\"output\":{}", "[".repeat(4_000_000));
    let folder = Folder::new();
    let path = folder.file("open.ndjson", format!("{RUN}\n{open}\n"));
    let took = without_input(&["analyze", &path, "--output", "json"]);
    let told = took.ran.json();
    assert_eq!((&told["runs"]["total"], &told["inputs"][0]["rejected"]), (&json!(1), &json!(1)));
    took.within(180, 300);
    assert!(took.ran.err.contains("too many open brackets and members"), "{}", took.ran.err);
}

#[test]
fn five_thousand_distinct_error_types_are_all_counted_and_a_few_are_shown() {
    let kinds = 5_000;
    let text = (0..kinds).fold(String::new(), |text, id| {
        text + &format!(r#"{{"run_id":"r{id}","task_id":"t{}","steps":[{{"type":"k{id}","error":{{"type":"E{id}","message":"m{id}"}}}}]}}"#, id % 50) + "\n"
    });
    let folder = Folder::new();
    let path = folder.file("kinds.ndjson", text);
    let took = without_input(&["analyze", &path, "--output", "json"]);
    let told = took.ran.json();
    for name in ["error_type", "step_type"] {
        assert_eq!(told["distributions"][name].as_object().unwrap().len(), kinds, "{name}");
    }
    took.within(180, 48 + kinds as u64 / 500);
    let table = run(&["analyze", &path]);
    assert!(table.out.len() < 10_000 && table.out.contains("other"), "{}", table.out.len());
    for command in ["inspect", "diagnose"] {
        let took = without_input(&[command, &path]);
        assert!(took.ran.out.len() < 200_000, "{command}: {} bytes", took.ran.out.len());
        took.within(180, 200);
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_circles_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let path = folder.file("a/run.json", RUN);
    symlink("../a", folder.at("a/again")).unwrap();
    symlink("circle", folder.at("a/circle")).unwrap();
    symlink("/no/such/file", folder.at("a/nowhere.json")).unwrap();
    symlink(&path, folder.at("a/same.json")).unwrap();
    let told = cli::report(&[&folder.at("a")]);
    assert_eq!(told["runs"]["total"], 1);
    run(&["analyze", &folder.at("a/circle")]).refused(2, &["a/circle"]);
    let glob = cli::report(&[&folder.at("**/*.json")]);
    assert_eq!(glob["runs"]["total"], 1);
}

/// Whether a text holds what a terminal would obey, beside the ends of its lines.
fn disturbs(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n')
}

#[cfg(unix)]
#[test]
fn names_of_files_with_line_breaks_escapes_and_bytes_that_are_no_utf8() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new();
    let bad = format!("{RUN}\n{{\"steps\":[\n");
    for name in [
        &b"a\nerror: no\n.ndjson"[..],
        b"\x1b[2J\x1b]0;t\x07\r.ndjson",
        b"caf\xE9\xFF.ndjson",
        b"\xC2\x9B1m.ndjson",
    ] {
        let path = folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&path, &bad).unwrap();
        let (page, store) = (folder.at("page.html"), folder.at("store"));
        let commands: [&[&str]; 12] = [
            &["analyze"],
            &["analyze", "--output", "csv"],
            &["analyze", "--output", "markdown"],
            &["analyze", "--output", "json"],
            &["inspect"],
            &["inspect", "--output", "markdown"],
            &["diagnose"],
            &["horizon"],
            &["failures", "collect", "--store", &store],
            &["explain", "step_error_rate"],
            &["show", "a"],
            &["report", "-o", &page],
        ];
        for args in commands {
            let ran = Ran::of(cli::agenteval().args(args).arg(&path));
            assert!([0, 3, 4].contains(&ran.code), "{args:?}: {ran:?}");
            assert!(!disturbs(&ran.out) && !disturbs(&ran.err), "{args:?}: {ran:?}");
            assert!(
                !ran.err.lines().any(|line| line.starts_with("error: no")),
                "{args:?}: {ran:?}"
            );
        }
        // Strict names the file on one line.
        let strict = Ran::of(cli::agenteval().args(["analyze", "--strict"]).arg(&path));
        strict.refused(2, &["--strict"]);
        assert_eq!(strict.err.lines().count(), 1, "{strict:?}");
        assert!(!disturbs(&strict.err), "{strict:?}");
        std::fs::remove_file(&path).unwrap();
        let gone = Ran::of(cli::agenteval().arg("analyze").arg(&path));
        gone.refused(2, &["cannot read"]);
        assert!(!disturbs(&gone.err) && gone.err.lines().count() == 1, "{gone:?}");
    }
}

#[test]
fn patterns_that_are_slow_elsewhere_take_linear_time_or_are_refused() {
    let folder = Folder::new();
    let message = "a".repeat(1 << 18);
    let path = folder.file(
        "r.ndjson",
        format!(r#"{{"steps":[{{"type":"t","error":{{"message":"{message}!"}}}}],"final":{{"s":"{message}"}}}}"#),
    );
    for pattern in [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*c",
        "((a{1,9}){1,9}){1,9}$",
        "(.*)(.*)(.*)(.*)x",
        "^(([a-z])+.)+[A-Z]$",
    ] {
        let rule = json!({"error_types": [{"match": pattern, "type": "slow"}],
            "evaluation": {"final_passed": format!("final.s.matches('{pattern}')")}});
        let config = folder.file("c.json", rule.to_string());
        let took = without_input(&["analyze", &path, "-c", &config]);
        assert_eq!(took.ran.code, 0, "{pattern}: {:?}", took.ran);
        took.within(180, 150);
    }
    for pattern in ["(a{1000}){1000}", "((((x{99}){99}){99}){99})", "\\pL{5000}"] {
        let rule = json!({"error_types": [{"match": pattern, "type": "big"}]});
        let config = folder.file("c.json", rule.to_string());
        let took = without_input(&["analyze", &path, "-c", &config]);
        took.ran.refused(2, &["error_types"]);
        took.within(60, 100);
        let finals =
            json!({"evaluation": {"final_passed": format!("final.s.matches('{pattern}')")}});
        let config = folder.file("c.json", finals.to_string().replace("\\\\p", "\\\\\\\\p"));
        let took = without_input(&["analyze", &path, "-c", &config]);
        assert_eq!(took.ran.code, 2, "{pattern}: {:?}", took.ran.err);
        took.within(60, 100);
    }
}

#[test]
fn expressions_that_double_texts_and_lists_end_soon() {
    let folder = Folder::new();
    let items = vec!["1"; 400].join(",");
    let text = "x".repeat(1 << 20);
    let path = folder.file(
        "r.ndjson",
        format!(r#"{{"steps":[{{"type":"t"}}],"final":{{"l":[{items}],"s":"{text}"}}}}"#),
    );
    let doubled = (0..12).rev().fold("size(y11) > 0".to_owned(), |inner, at| {
        let last = if at == 0 { "final.s".to_owned() } else { format!("y{}", at - 1) };
        format!("[{last} + {last}].all(y{at}, {inner})")
    });
    let lists = doubled
        .replace(" + ", ", ")
        .replace('[', "[[")
        .replace(']', "]]")
        .replace("final.s", "final.l");
    for expression in [&doubled, &lists] {
        let rule = json!({"evaluation": {"final_passed": expression}});
        let config = folder.file("c.json", rule.to_string());
        let took = without_input(&["analyze", &path, "-c", &config, "--output", "json"]);
        took.within(180, 700);
        match took.ran.code {
            0 => {
                let told = took.ran.json();
                assert_eq!(told["runs"]["total"], 1, "{expression}");
                if told["runs"]["completed"] == 0 {
                    warning(&told, "expression_unevaluable");
                }
            }
            _ => took.ran.refused(2, &["final_passed"]),
        }
    }
}

#[test]
fn three_thousand_files_in_one_folder() {
    let folder = Folder::new();
    for id in 0..3_000 {
        folder
            .file(&format!("runs/{id}.json"), RUN.replace("\"a\",\"s", &format!("\"r{id}\",\"s")));
    }
    let took = without_input(&["analyze", &folder.at("runs"), "--output", "json"]);
    assert_eq!(took.ran.json()["runs"]["total"], 3_000);
    took.within(180, 60);
    let table = run(&["analyze", &folder.at("runs")]);
    assert!(table.out.len() < 10_000, "the table does not list them: {}", table.out.len());
}

#[test]
fn a_thousand_warnings_that_differ_in_a_name_are_told_in_a_hundred_lines() {
    let span = |trace: usize| {
        json!({"id": format!("r{trace}"), "trace_id": format!("t{trace}"), "parent_run_id": "gone",
            "run_type": "tool", "name": "x"})
    };
    let text: String = (0..1_000).map(|trace| format!("{}\n", span(trace))).collect();
    let folder = Folder::new();
    let ran = run(&["analyze", &folder.file("spans.ndjson", text), "--output", "json"]);
    let told = ran.json();
    assert_eq!(told["runs"]["total"], 1_000);
    let of_kind: Vec<&Value> = told["warnings"].as_array().unwrap().iter().collect();
    let orphans: Vec<_> =
        of_kind.iter().filter(|warning| warning["code"] == "orphan_parents").collect();
    let sum: u64 = orphans.iter().map(|warning| warning["count"].as_u64().unwrap()).sum();
    assert_eq!((orphans.len(), sum), (101, 1_000), "each is counted");
    assert!(
        ran.err.contains("and others of this kind: `agenteval inspect` lists them (900 times)"),
        "{}",
        ran.err
    );
}

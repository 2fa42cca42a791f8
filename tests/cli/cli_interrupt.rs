//! Commands that are stopped half way: no draft stays, no target is half written.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{Folder, agenteval, fixture};

/// Runs that are given before a command is stopped.
const RUNS: usize = 500;

/// Everything in a folder and below it, by name.
fn names(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        if path.is_dir() {
            found.extend(names(&path));
        }
    }
    found.sort();
    found
}

/// Starts a conversion of runs from standard input, which never ends, and waits for its draft.
fn begun(folder: &Folder, before: &str, args: &str) -> (Child, std::process::ChildStdin) {
    let program = agenteval().get_program().to_owned();
    let mut shell = Command::new("sh");
    let script = format!("{before} exec \"$0\" convert - {args}");
    shell.arg("-c").arg(script).arg(program).current_dir(folder.path());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let padding = "x".repeat(20_000);
    let run = format!(r#"{{"run_id":"a","steps":[{{"type":"tool","input":"{padding}"}}]}}"#);
    // More than a block, so that runs are written.
    for _ in 0..RUNS {
        writeln!(input, "{run}").unwrap();
    }
    let start = Instant::now();
    while !names(&folder.path()).iter().any(|name| name.starts_with(".tmp")) {
        assert!(start.elapsed() < Duration::from_secs(60), "no draft: {:?}", names(&folder.path()));
        std::thread::sleep(Duration::from_millis(10));
    }
    (child, input)
}

/// Whether whoever runs the tests told them to ignore a signal, as `nohup` does: no child can undo it.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

fn send(child: &Child, signal: &str) {
    let kill = format!("kill -s {signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn an_interrupt_leaves_no_draft_and_no_half_file() {
    let heard = |(_, number): &(&str, i32)| !ignored(*number);
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)].into_iter().filter(heard) {
        for args in ["-o out.json", "-o out.atif.ndjson", "--to atif -o out/"] {
            let folder = Folder::new();
            folder.file("out.json", "as it was");
            folder.file("out/kept", "");
            let (child, input) = begun(&folder, "", args);
            send(&child, signal);
            // Standard input is still open: the end does not wait for it.
            let ended = child.wait_with_output().unwrap();
            drop(input);
            assert_eq!(ended.status.signal(), Some(number), "{signal} {args}: {ended:?}");
            assert!(ended.stderr.is_empty() && ended.stdout.is_empty(), "{ended:?}");
            assert_eq!(names(&folder.path()), ["kept", "out", "out.json"], "{signal} {args}");
            let text = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
            assert_eq!(text, "as it was");
        }
    }
}

#[test]
fn a_signal_that_was_to_be_ignored_stays_so() {
    let folder = Folder::new();
    let (child, input) = begun(&folder, "trap '' INT HUP;", "-o out.ndjson");
    send(&child, "INT");
    send(&child, "HUP");
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let text = std::fs::read_to_string(folder.path().join("out.ndjson")).unwrap();
    assert_eq!(text.lines().count(), RUNS);
}

#[test]
fn a_full_standard_output_is_told_by_every_command() {
    let traces = fixture("native/plain.json");
    for args in [
        &["--help"][..],
        &["--version"],
        &["help", "gate"],
        &["analyze", "--help"],
        &["schema", "config"],
        &["completions", "bash"],
        &["man"],
        &["map", "list"],
        &["map", "show", "pino"],
        &["explain", "avg_steps"],
        &["analyze", &traces],
        &["baseline", "list"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(agenteval().get_program());
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).stdout(full);
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {ended:?}");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("error: cannot write to standard output: "), "{args:?}: {said}");
    }
}

#[test]
fn a_reader_that_has_gone_away_ends_a_command_quietly() {
    for args in [&["--help"][..], &["man"], &["schema", "config"], &["map", "list"]] {
        let mut command = Command::new(agenteval().get_program());
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.code() == Some(0) && ended.stderr.is_empty(), "{args:?}: {ended:?}");
    }
}

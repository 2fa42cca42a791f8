//! Inspect AI logs: hand-written ones, archives made here, and every real log beside the repo.

use crate::support;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use agenteval::config::ReadOptions;
use agenteval::ingest::formats::inspect_ai::INSPECT_AI;
use agenteval::ingest::formats::{Parsed, Probe, Reader, Record, Refusal};
use agenteval::model::{
    Attempt, EndRule, ErrorOrigin, Final, Issue, Place, ScoreValue, Tokens, Trajectory,
};
use serde_json::{Value, json};
use zip::CompressionMethod::{Deflated, Zstd};
use zip::write::SimpleFileOptions;

const FIXTURE: &[u8] = include_bytes!("../../fixtures/inspect_ai/two_by_two.json");

fn read_with<'r>(bytes: &'r [u8], options: &ReadOptions) -> Result<Parsed<'r>, Refusal> {
    let Reader::Whole(read) = INSPECT_AI.reader else { panic!("a log is one record") };
    read(&Record { bytes, place: Place::default(), path: Path::new("log.json") }, options)
}

fn read(bytes: &[u8]) -> Parsed<'_> {
    read_with(bytes, &ReadOptions::default()).unwrap()
}

/// A run in the few words that tests compare, so that it can leave an archive's member.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    id: String,
    task: String,
    trial: String,
    scores: Vec<(String, String)>,
    end: (Option<String>, Option<String>, Option<EndRule>),
    attempts: Vec<String>,
    tokens: f64,
    output: Value,
}

fn tell(run: &Trajectory<'_>) -> Told {
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_ref().map(|t| t.to_string());
    let of_attempts: Vec<Tokens> = run.attempts.iter().filter_map(|a| a.tokens).collect();
    Told {
        id: owned(&run.run_id).unwrap(),
        task: owned(&run.task_id).unwrap(),
        trial: owned(&run.trial).unwrap(),
        scores: run
            .scores
            .iter()
            .map(|score| {
                let value = match &score.value {
                    ScoreValue::Number(number) => number.to_string(),
                    ScoreValue::Unreadable(text) => format!("unreadable {text}"),
                };
                (score.name.to_string(), value)
            })
            .collect(),
        end: (owned(&run.status), owned(&run.end_reason), run.end_rule),
        attempts: run.attempts.iter().map(line).collect(),
        tokens: of_attempts.iter().chain(&run.tokens).map(Tokens::total).sum(),
        output: delivered(run)["output"].clone(),
    }
}

/// `kind name status error`, with `-` for what is not recorded.
fn line(attempt: &Attempt<'_>) -> String {
    let error = attempt.error.as_ref().map(|e| e.kind.as_deref().unwrap_or("untyped"));
    let name = attempt.name.as_deref().unwrap_or("-");
    let status = attempt.status.as_deref().unwrap_or("-");
    format!("{} {name} {status} {}", attempt.kind, error.unwrap_or("-"))
}

fn delivered(run: &Trajectory<'_>) -> Value {
    let Final::Json(text) = &run.final_output else { panic!("no final output") };
    serde_json::from_str(text).unwrap()
}

fn codes(issues: &[Issue]) -> Vec<(&'static str, u64)> {
    issues.iter().map(|issue| (issue.code, issue.count)).collect()
}

/// What an archive gave: runs, issues, and the codes of refusals.
#[derive(Debug, Default)]
struct Gave {
    runs: Vec<Told>,
    issues: Vec<Issue>,
    refused: Vec<&'static str>,
}

fn read_archive(file: File) -> Gave {
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let (detect, read) = INSPECT_AI.archive.unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert!(detect(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let mut gave = Gave::default();
    read(&mut archive, Place::default(), &ReadOptions::default(), &mut |result| match result {
        Ok(parsed) => {
            gave.runs.extend(parsed.runs.iter().map(tell));
            gave.issues.extend(parsed.issues);
        }
        Err((_, why)) => gave.refused.push(why.code),
    });
    gave
}

fn archive(method: zip::CompressionMethod, members: &[(&str, &str)]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    let mut zip = zip::ZipWriter::new(&mut file);
    for (name, text) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    file.rewind().unwrap();
    file
}

fn real(name: &str) -> Option<Vec<u8>> {
    support::shared(&format!("data/inspect_ai/{name}")).map(|path| std::fs::read(path).unwrap())
}

fn real_archive(name: &str) -> Option<Gave> {
    let path = support::shared(&format!("data/inspect_ai/{name}"))?;
    Some(read_archive(File::open(path).unwrap()))
}

const START: &str = r#"{"version":2,"eval":{"run_id":"r","task":"t","task_id":"l","model":"m"}}"#;
const HEADER: &str = r#"{"version":2,"status":"success","eval":{"run_id":"r","task":"t","task_id":"l","model":"m"}}"#;

fn small_sample(id: u32) -> String {
    format!(
        r#"{{"id":{id},"epoch":1,"scores":{{"s":{{"value":"C"}}}},"messages":[],"events":[
        {{"event":"tool","id":"a","function":"ls","arguments":{{}},"result":"\u0000\u0000"}},
        {{"event":"tool","id":"b","function":"ls","arguments":{{}},"error":{{"type":"parsing","message":"\u0000"}}}}]}}"#
    )
}

#[test]
fn each_sample_of_each_epoch_is_one_run_of_its_task() {
    let parsed = read(FIXTURE);
    let runs: Vec<Told> = parsed.runs.iter().map(tell).collect();
    let ids: Vec<_> = runs.iter().map(|r| (&*r.id, &*r.task, &*r.trial)).collect();
    let expected = [
        ("run-a/log-a/easy/1", "lookup/easy", "1"),
        ("run-a/log-a/easy/2", "lookup/easy", "2"),
        ("run-a/log-a/2/1", "lookup/2", "1"),
        ("u-4", "lookup/2", "2"),
    ];
    assert_eq!(ids, expected);
    let run = &parsed.runs[0];
    assert_eq!(
        (run.model.as_deref(), run.agent.as_deref()),
        (Some("demo/model"), Some("basic_agent"))
    );
    let tags: Vec<_> = run.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(tags, [("nightly", "true"), ("team", "search"), ("seed", "7")]);
    assert_eq!(run.duration_ms, Some(4000.0));
    assert!(run.started_at.is_some() && run.ended_at.is_some());
    let places: std::collections::BTreeSet<_> = parsed.runs.iter().map(|r| r.place).collect();
    assert_eq!(places.len(), 4, "each run stands at its own byte");
}

#[test]
fn tool_events_are_steps_nested_ones_too_and_each_event_once() {
    let parsed = read(FIXTURE);
    let run = &parsed.runs[0];
    let lines: Vec<_> = run.attempts.iter().map(line).collect();
    let expected =
        ["llm demo/model - -", "tool search - timeout", "tool search - -", "tool rank - untyped"];
    assert_eq!(lines, expected);
    let error = run.attempts[1].error.as_ref().unwrap();
    assert_eq!(error.message.as_deref(), Some("the service said no"), "attachments are resolved");
    assert_eq!(error.origin, ErrorOrigin::Recorded);
    assert_eq!(run.attempts[3].error.as_ref().unwrap().origin, ErrorOrigin::Flag);
    assert_eq!(run.attempts[1].input, run.attempts[2].input, "space in arguments is no change");
    assert_eq!(run.attempts[2].duration_ms, Some(250.0));
    assert!(run.attempts[1].ended_at.is_some() && run.attempts[1].duration_ms.is_none());
    assert_eq!(codes(&parsed.issues), [("sample_retried", 1), ("tool_event_repeated", 1)]);
}

#[test]
fn cached_tokens_are_not_counted_twice_whichever_way_the_provider_counts() {
    let usage = |text: &str| {
        let log = format!(
            r#"{{"version":2,"status":"success","eval":{{}},"samples":[{{"id":1,"epoch":1,
            "events":[{{"event":"model","output":{{"usage":{text}}}}}]}}]}}"#
        );
        read(log.as_bytes()).runs[0].attempts[0].tokens.unwrap()
    };
    let expected =
        Tokens { input: 60.0, cache_read: 40.0, cache_write: 0.0, output: 10.0, unsplit: 0.0 };
    let apart =
        r#"{"input_tokens":60,"output_tokens":10,"total_tokens":110,"input_tokens_cache_read":40}"#;
    let inside = r#"{"input_tokens":100,"output_tokens":10,"total_tokens":110,"input_tokens_cache_read":40}"#;
    let silent = r#"{"input_tokens":60,"output_tokens":10,"input_tokens_cache_read":40}"#;
    assert_eq!(usage(apart), expected);
    assert_eq!(usage(inside), expected);
    assert_eq!(usage(silent), expected);
    assert_eq!(usage(r#"{"total_tokens":7}"#), Tokens { unsplit: 7.0, ..Tokens::default() });
    assert_eq!(tell(&read(FIXTURE).runs[0]).tokens, 110.0, "a sum is not added to its parts");
    assert_eq!(tell(&read(FIXTURE).runs[2]).tokens, 6.0, "without parts the sum counts");
}

#[test]
fn refused_cancelled_and_pending_calls_neither_passed_nor_failed() {
    let run = tell(&read(FIXTURE).runs[1]);
    let expected = [
        "approval human rejected -",
        "tool delete rejected approval",
        "tool wait cancelled cancelled",
        "tool search pending -",
    ];
    assert_eq!(run.attempts, expected);
    let scores = [
        ("exact", "0"),
        ("parts.first", "1"),
        ("parts.second", "1"),
        ("parts.notes", "unreadable [\"x\"]"),
    ];
    let scores: Vec<_> = scores.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
    assert_eq!(run.scores, scores);
    assert_eq!(run.end, (None, Some("message".to_owned()), None), "a limit is no outcome");
}

#[test]
fn a_sample_error_is_the_runs_status_and_steps_come_from_messages_where_events_tell_none() {
    let parsed = read(FIXTURE);
    let run = tell(&parsed.runs[2]);
    let end = (Some("error".to_owned()), Some("no services started".to_owned()), None);
    assert_eq!(run.end, end);
    assert!(run.scores.is_empty());
    let expected = ["llm - - -", "tool search pending -", "tool open - permission"];
    assert_eq!(run.attempts, expected);
    let delivered_there =
        json!({"status": "error", "end_reason": "no services started", "output": "I will look."});
    assert_eq!(delivered(&parsed.runs[2]), delivered_there);
    let expected = json!({"score": 0.25, "scores": {"": 0.25}, "output": "b!"});
    assert_eq!(delivered(&parsed.runs[3]), expected);
}

#[test]
fn an_attempts_own_json_is_the_event_and_kept_only_where_it_is_asked_for() {
    let options = ReadOptions { raw_attempts: true, ..ReadOptions::default() };
    let parsed = read_with(FIXTURE, &options).unwrap();
    let raw = |run: usize, at: usize| -> Value {
        serde_json::from_str(parsed.runs[run].attempts[at].raw.as_ref().unwrap()).unwrap()
    };
    assert_eq!(raw(0, 1)["function"], "search");
    assert_eq!(raw(0, 3)["failed"], true);
    let expected = json!({"id": "c2", "function": "open", "arguments": {}, "result": "",
        "error": {"type": "permission", "message": "closed"}});
    assert_eq!(raw(2, 2), expected);
    assert!(read(FIXTURE).runs.iter().flat_map(|run| &run.attempts).all(|a| a.raw.is_none()));
}

#[test]
fn logs_that_ended_badly_are_told_and_only_their_undecided_samples_are_open() {
    let log = |status: &str| {
        format!(
            r#"{{"version":2,"status":"{status}","eval":{{"task":"t"}},"error":{{"message":"disk full"}},
            "samples":[{{"id":1,"epoch":1}},{{"id":2,"epoch":1,"scores":{{"s":{{"value":1}}}}}},
            {{"id":3,"epoch":1,"completed_at":"2025-01-01T00:00:00Z"}}]}}"#
        )
    };
    let rules = |status: &str| {
        let log = log(status);
        let parsed = read(log.as_bytes());
        let rules: Vec<_> = parsed.runs.iter().map(|run| run.end_rule).collect();
        (rules, codes(&parsed.issues))
    };
    let open = |rule| vec![Some(rule), None, None];
    assert_eq!(rules("started"), (open(EndRule::Unfinished), vec![("log_unfinished", 1)]));
    assert_eq!(rules("cancelled"), (open(EndRule::Cancelled), vec![("log_cancelled", 1)]));
    assert_eq!(rules("error"), (vec![None, None, None], vec![("log_error", 1)]));
    assert_eq!(rules("success"), (vec![None, None, None], vec![]));
}

#[test]
fn odd_logs_are_read_or_refused_but_never_panic() {
    let read = |text: &str| {
        read_with(text.as_bytes(), &ReadOptions::default())
            .map(|parsed| (parsed.runs.len(), codes(&parsed.issues)))
            .map_err(|why| (why.code, why.repairable))
    };
    let wrap = |sample: &str| {
        format!(r#"{{"version":2,"status":"success","eval":{{}},"samples":[{sample}]}}"#)
    };
    assert_eq!(read("{}"), Err(("log_without_eval", false)));
    assert_eq!(
        read(&wrap(r#"{"id":1,"scores":{"s":{"value":NaN}}}"#)),
        Err(("invalid_json", true))
    );
    assert_eq!(read(r#"{"version":2,"eval":{},"samples":[{"id"#), Err(("truncated_record", true)));
    let with_bad = wrap(r#"7,{"epoch":1},{"id":2,"events":[3]},{"id":3,"messages":{}},{"id":4}"#);
    let expected = [
        ("unreadable_sample", 1),
        ("sample_without_id", 1),
        ("unreadable_step", 1),
        ("unreadable_step", 1),
    ];
    assert_eq!(read(&with_bad), Ok((1, expected.to_vec())), "a bad sample spares the others");
    let odd = r#"{"id":1,"id":2,"epoch":null,"scores":[1],"score":3,"error":"text","limit":"time",
        "error_retries":{},"model_usage":[],"output":7,"messages":null,"uuid":{},
        "events":[{"event":5},{"event":"tool","error":{},"events":null},
                  {"event":"model","error":"overloaded","output":[]}]}"#;
    assert_eq!(read(&wrap(odd)), Ok((1, vec![])));
}

#[test]
fn events_nested_without_end_are_cut_and_told() {
    let (open, close) = (r#"[{"event":"subtask","events":"#, "}]");
    let events = format!("{}[]{}", open.repeat(3000), close.repeat(3000));
    let log = format!(
        r#"{{"version":2,"status":"success","eval":{{}},"samples":[{{"id":1,"events":{events}}}]}}"#
    );
    let parsed = read(log.as_bytes());
    assert_eq!((parsed.runs.len(), codes(&parsed.issues)), (1, vec![("events_too_deep", 1)]));
}

#[test]
fn a_model_that_gives_two_calls_one_id_keeps_both_calls() {
    let log = r#"{"version":2,"status":"success","eval":{},"samples":[{"id":1,"events":[
        {"event":"tool","id":"x","function":"ls","arguments":{},"timestamp":"2025-01-01T00:00:01Z"},
        {"event":"tool","id":"x","function":"ls","arguments":{},"timestamp":"2025-01-01T00:00:02Z"},
        {"event":"tool","id":"y","function":"ls","arguments":{},"pending":true,"uuid":"1"},
        {"event":"tool","id":"y","function":"ls","arguments":{},"uuid":"1","failed":true}]}]}"#;
    let parsed = read(log.as_bytes());
    let attempts = &parsed.runs[0].attempts;
    assert_eq!(
        attempts.iter().map(line).collect::<Vec<_>>(),
        ["tool ls - -", "tool ls - -", "tool ls - untyped"]
    );
    let ids: Vec<_> = attempts.iter().map(|a| a.request_id.as_deref()).collect();
    assert_eq!(ids, [None, None, Some("y")]);
}

#[test]
fn archives_are_read_with_deflate_and_with_zstd_and_tool_text_may_hold_nul() {
    let (one, two) = (small_sample(1), small_sample(2));
    let members = [
        ("_journal/start.json", START),
        ("samples/1_epoch_1.json", &*one),
        ("samples/dir/2_epoch_1.json", &*two),
        ("summaries.json", "[]"),
        ("header.json", HEADER),
    ];
    for method in [Deflated, Zstd] {
        let gave = read_archive(archive(method, &members));
        assert_eq!((gave.refused, codes(&gave.issues)), (vec![], vec![]));
        let tasks: Vec<_> = gave.runs.iter().map(|run| (&*run.task, &*run.id)).collect();
        assert_eq!(tasks, [("t/1", "r/l/1/1"), ("t/2", "r/l/2/1")]);
        assert_eq!(gave.runs[0].attempts, ["tool ls - -", "tool ls - parsing"]);
        assert_eq!(gave.runs[0].scores, [("s".to_owned(), "1".to_owned())]);
    }
}

/// A zip of one stored member whose method is then changed to zstd: its bytes are zstd already.
fn with_zstd_member(name: &str, compressed: &[u8], plain: &[u8]) -> File {
    let mut bytes = Vec::new();
    let crc = flate2_crc(plain);
    let sizes = |out: &mut Vec<u8>| {
        out.extend(crc.to_le_bytes());
        out.extend(u32::try_from(compressed.len()).unwrap().to_le_bytes());
        out.extend(u32::try_from(plain.len()).unwrap().to_le_bytes());
        out.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        out.extend([0, 0]);
    };
    bytes.extend(b"PK\x03\x04\x3f\x00\x00\x00\x5d\x00\x00\x00\x21\x00");
    sizes(&mut bytes);
    bytes.extend(name.as_bytes());
    bytes.extend(compressed);
    let directory = bytes.len();
    bytes.extend(b"PK\x01\x02\x3f\x00\x3f\x00\x00\x00\x5d\x00\x00\x00\x21\x00");
    sizes(&mut bytes);
    bytes.extend([0; 14]);
    bytes.extend(name.as_bytes());
    let size = bytes.len() - directory;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\x00\x01\x00");
    bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(directory).unwrap().to_le_bytes());
    bytes.extend([0, 0]);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn flate2_crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[test]
fn a_zstd_member_of_several_frames_is_read_to_its_end() {
    let sample = small_sample(1);
    let (head, tail) = sample.as_bytes().split_at(sample.len() / 2);
    let mut frames = zstd::encode_all(head, 3).unwrap();
    frames.extend(zstd::encode_all(tail, 3).unwrap());
    let gave = read_archive(with_zstd_member("samples/1_epoch_1.json", &frames, sample.as_bytes()));
    assert_eq!(gave.refused, Vec::<&str>::new());
    assert_eq!(gave.runs[0].attempts, ["tool ls - -", "tool ls - parsing"]);
    assert_eq!(codes(&gave.issues), [("log_unfinished", 1), ("log_without_head", 1)]);
}

#[test]
fn a_member_that_says_it_is_huge_is_refused_without_being_inflated() {
    let sample = small_sample(1);
    let mut file =
        archive(Deflated, &[("samples/1_epoch_1.json", &sample), ("header.json", HEADER)]);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    // The uncompressed size stands 24 bytes into the member's entry in the central directory.
    let entry = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bytes[entry + 24..entry + 28].copy_from_slice(&u32::to_le_bytes(3 << 30));
    let mut bomb = tempfile::tempfile().unwrap();
    bomb.write_all(&bytes).unwrap();
    bomb.rewind().unwrap();
    let gave = read_archive(bomb);
    assert_eq!((gave.runs.len(), gave.refused), (0, vec!["member_too_large"]));
}

#[test]
fn members_that_share_bytes_are_read_once_and_refused_after() {
    let mut file = tempfile::tempfile().unwrap();
    let mut zip = zip::ZipWriter::new(&mut file);
    zip.start_file("header.json", SimpleFileOptions::default()).unwrap();
    zip.write_all(HEADER.as_bytes()).unwrap();
    zip.start_file("samples/1_epoch_1.json", SimpleFileOptions::default()).unwrap();
    zip.write_all(small_sample(1).as_bytes()).unwrap();
    for copy in 2..50 {
        zip.shallow_copy_file("samples/1_epoch_1.json", &format!("samples/{copy}_epoch_1.json"))
            .unwrap();
    }
    zip.finish().unwrap();
    file.rewind().unwrap();
    let gave = read_archive(file);
    assert_eq!((gave.runs.len(), gave.refused), (1, vec!["overlapping_member"; 48]));
}

#[test]
fn names_and_tags_that_every_run_repeats_are_bounded() {
    let metadata: Vec<_> = (0..1000).map(|n| format!(r#""k{n}":{n}"#)).collect();
    let log = format!(
        r#"{{"version":2,"status":"success","eval":{{"task":"{}","metadata":{{{}}}}},
        "samples":[{{"id":1}}]}}"#,
        "é".repeat(100_000),
        metadata.join(",")
    );
    let parsed = read(log.as_bytes());
    assert!(parsed.runs[0].task_id.as_ref().unwrap().len() < 600);
    assert_eq!(parsed.runs[0].tags.len(), 64);
    assert_eq!(codes(&parsed.issues), [("tags_left_out", 936)]);
}

#[test]
fn a_damaged_member_is_refused_and_the_others_are_read() {
    let (one, two) = (small_sample(1), small_sample(2));
    let members = [
        ("samples/1_epoch_1.json", &*one),
        ("samples/2_epoch_1.json", &*two),
        ("header.json", HEADER),
    ];
    let mut file = archive(Deflated, &members);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    let first = 30 + "samples/1_epoch_1.json".len();
    for byte in &mut bytes[first + 20..first + 40] {
        *byte ^= 0xff;
    }
    let mut damaged = tempfile::tempfile().unwrap();
    damaged.write_all(&bytes).unwrap();
    damaged.rewind().unwrap();
    let gave = read_archive(damaged);
    assert_eq!(gave.refused, ["unreadable_member"]);
    assert_eq!(gave.runs.iter().map(|run| &*run.task).collect::<Vec<_>>(), ["t/2"]);
}

#[test]
fn a_zip_cut_off_anywhere_gives_an_error_or_less_but_never_a_panic() {
    let sample = small_sample(1);
    let mut file =
        archive(Deflated, &[("samples/1_epoch_1.json", &sample), ("header.json", HEADER)]);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
    for cut in 0..bytes.len() {
        let mut part = tempfile::tempfile().unwrap();
        part.write_all(&bytes[..cut]).unwrap();
        part.rewind().unwrap();
        assert!(zip::ZipArchive::new(part).is_err(), "the directory at the end is gone at {cut}");
    }
}

#[test]
fn an_archive_without_a_header_is_an_unfinished_log_and_its_scored_samples_stand() {
    let scored = small_sample(1);
    let members = [
        ("_journal/start.json", START),
        ("samples/1_epoch_1.json", &*scored),
        ("samples/2_epoch_1.json", r#"{"id":2,"epoch":1}"#),
    ];
    let gave = read_archive(archive(Deflated, &members));
    assert_eq!(codes(&gave.issues), [("log_unfinished", 1)]);
    let rules: Vec<_> = gave.runs.iter().map(|run| run.end.2).collect();
    assert_eq!(rules, [None, Some(EndRule::Unfinished)]);
    let empty = read_archive(archive(Deflated, &[("_journal/start.json", START)]));
    assert_eq!(codes(&empty.issues), [("log_unfinished", 1), ("no_samples", 1)]);
}

#[test]
fn a_sample_in_parts_is_joined_by_start_and_refused_where_a_part_is_missing() {
    let event =
        |id: u32| format!(r#"{{"event":"tool","id":"{id}","function":"f{id}","arguments":{{}}}}"#);
    let first = format!("[{},{}]", event(0), event(1));
    let second = format!("[{}]", event(2));
    let sample = r#"{"id":1,"epoch":1}"#;
    let mut members = vec![
        ("header.json", HEADER),
        ("samples/a/1_epoch_1/events/2.json", &*second),
        ("samples/a/1_epoch_1/events/0.json", &*first),
        ("samples/a/1_epoch_1/events/stats.json", "{}"),
        ("samples/a/1_epoch_1/messages/0.json", "[]"),
        ("samples/a/1_epoch_1/sample.json", sample),
    ];
    let gave = read_archive(archive(Zstd, &members));
    assert_eq!(gave.refused, Vec::<&str>::new());
    assert_eq!(gave.runs[0].attempts, ["tool f0 - -", "tool f1 - -", "tool f2 - -"]);
    members.remove(2);
    let gave = read_archive(archive(Zstd, &members));
    assert_eq!((gave.runs.len(), gave.refused), (0, vec!["chunked_sample_unsupported"]));
    members.remove(1);
    let gave = read_archive(archive(Zstd, &members));
    assert_eq!((gave.runs.len(), gave.refused), (0, vec!["chunked_sample_unsupported"]));
}

#[test]
fn logs_are_told_by_their_content() {
    let json = |records| (INSPECT_AI.detect)(&Probe::new(Path::new("x"), records, false));
    assert!(json(vec![FIXTURE]));
    assert!(json(vec![&FIXTURE[..400]]), "cut off inside eval");
    assert!(!json(vec![br#"{"version":2,"status":"ok"}"#]));
    let (zip, _) = INSPECT_AI.archive.unwrap();
    assert!(
        zip(&["header.json"]) && zip(&["_journal/start.json"]) && zip(&["samples/1_epoch_1.json"])
    );
    assert!(!zip(&["trace.json", "samples/readme.md"]) && !zip(&[]));
}

// The real logs: the figures were read from them by hand.

#[test]
fn eleven_tool_messages_with_errors_are_eleven_failed_calls_in_order() {
    let Some(bytes) = real("log_tool_call_error.json") else { return };
    let parsed = read(&bytes);
    assert_eq!(parsed.runs.len(), 1);
    let run = tell(&parsed.runs[0]);
    let kinds = [
        "parsing",
        "timeout",
        "parsing",
        "unicode_decode",
        "permission",
        "file_not_found",
        "is_a_directory",
        "limit",
        "approval",
        "unknown",
        "output_limit",
    ];
    let expected: Vec<_> = kinds.iter().map(|kind| format!("tool bash - {kind}")).collect();
    assert_eq!(run.attempts, expected);
    assert_eq!((run.trial.as_str(), run.scores.len()), ("4", 0));
    let last = parsed.runs[0].attempts[10].error.as_ref().unwrap().message.as_deref();
    assert_eq!(last, Some("The tool output limit of 10 MiB was exceeded."));
    assert_eq!(codes(&parsed.issues), [("result_without_call", 11)]);
}

#[test]
fn logs_without_samples_give_no_run_and_say_so() {
    let name = "2024-08-29T15-11-17+00-00_popularity_5EAmX6wjMFqea6WY7XHzZp.json";
    let Some(bytes) = real(name) else { return };
    let parsed = read(&bytes);
    assert_eq!((parsed.runs.len(), codes(&parsed.issues)), (0, vec![("no_samples", 1)]));
    assert!(parsed.issues[0].message.contains("it counts 1"));
    let Some(bytes) = real("2025-05-12T20-28-13-04-00_no-samples.json") else { return };
    let parsed = read(&bytes);
    let expected = vec![("log_cancelled", 1), ("no_samples", 1)];
    assert_eq!((parsed.runs.len(), codes(&parsed.issues)), (0, expected));
}

#[test]
fn the_two_input_task_logs_give_one_scored_run_with_the_tokens_of_the_log() {
    let json = "2024-11-05T13-31-45-05-00_input-task_8zXjbRzCWrL9GXiXo2vus9.json";
    let eval = "2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval";
    let Some(bytes) = real(json) else { return };
    let parsed = read(&bytes);
    let Some(gave) = real_archive(eval) else { return };
    assert_eq!((gave.refused, gave.issues), (vec![], vec![]));
    assert_eq!((parsed.runs.len(), parsed.issues.len(), gave.runs.len()), (1, 0, 1));
    for (run, tokens) in [(&tell(&parsed.runs[0]), 463.0), (&gave.runs[0], 489.0)] {
        assert_eq!((run.task.as_str(), run.trial.as_str()), ("input_task/1", "1"));
        assert_eq!(run.scores, [("model_graded_fact".to_owned(), "1".to_owned())]);
        assert_eq!(run.attempts, ["llm openai/gpt-4o-mini - -"; 2]);
        assert_eq!((run.tokens, &run.end), (tokens, &(None, None, None)));
    }
}

#[test]
fn ten_unscored_samples_are_ten_runs_without_score() {
    let Some(gave) =
        real_archive("2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval")
    else {
        return;
    };
    assert_eq!((gave.refused, gave.issues), (vec![], vec![]));
    let told: Vec<_> =
        gave.runs.iter().map(|r| (&*r.task, r.tokens, r.output.as_str().unwrap())).collect();
    let expected = [
        ("popularity/5", 65.0, "Yes"),
        ("popularity/9", 63.0, "Yes"),
        ("popularity/4", 69.0, "No"),
        ("popularity/8", 57.0, "No"),
        ("popularity/6", 60.0, "No"),
        ("popularity/3", 72.0, "No"),
        ("popularity/10", 65.0, "No"),
        ("popularity/7", 63.0, "No"),
        ("popularity/2", 60.0, "No"),
        ("popularity/1", 66.0, "Yes"),
    ];
    assert_eq!(told, expected);
    assert!(gave.runs.iter().all(|r| r.scores.is_empty() && r.end == (None, None, None)));
    assert!(gave.runs.iter().all(|r| r.attempts == ["llm openai/gpt-4o-mini - -"]));
}

#[test]
fn one_log_as_json_and_as_archive_is_the_same_run() {
    let Some(bytes) = real("log_formats.json") else { return };
    let parsed = read(&bytes);
    let Some(gave) = real_archive("log_formats.eval") else { return };
    assert_eq!((gave.refused.len(), gave.issues.len(), parsed.issues.len()), (0, 0, 0));
    let runs: Vec<Told> = parsed.runs.iter().map(tell).collect();
    assert_eq!(runs, gave.runs);
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].scores, [("match".to_owned(), "0".to_owned())]);
    assert_eq!((runs[0].tokens, runs[0].output.as_str()), (68.0, Some("No")));
}

#[test]
fn five_tool_calls_of_a_log_with_pooled_messages_all_passed() {
    let Some(gave) = real_archive("log_message_deduplication.eval") else { return };
    assert_eq!((gave.refused, gave.issues), (vec![], vec![]));
    assert_eq!(gave.runs.len(), 1);
    let run = &gave.runs[0];
    let turns = run.attempts.iter().filter(|a| *a == "llm hardcoded/hardcoded - -").count();
    let calls = run.attempts.iter().filter(|a| *a == "tool bash - -").count();
    assert_eq!((turns, calls, run.attempts.len()), (6, 5, 11));
    assert_eq!((run.id.as_str(), run.tokens), ("5XJAqKPKGtzrXUZ3UhthJM", 0.0));
    assert_eq!(run.task, "inspect_test_utils/guess_number/0");
    assert_eq!(run.scores, [("closeness_log".to_owned(), "0".to_owned())]);
    assert_eq!(run.output, "done");
}

#[test]
fn the_two_read_sample_logs_are_one_scored_run_each() {
    let Some(bytes) = real("log_read_sample.json") else { return };
    let parsed = read(&bytes);
    let Some(gave) = real_archive("log_read_sample.eval") else { return };
    assert_eq!((parsed.issues.len(), gave.issues.len(), gave.refused.len()), (0, 0, 0));
    let duration = parsed.runs[0].duration_ms.unwrap();
    assert!((duration - 2113.0).abs() < 1e-6);
    let told = [tell(&parsed.runs[0]), gave.runs[0].clone()];
    for (run, id) in told.iter().zip(["8rN5WC55fErMswTifp3eVJ", "LKmyJnSm3fgU8aanLnfPkL"]) {
        assert_eq!((run.id.as_str(), run.task.as_str(), run.tokens), (id, "popularity/1", 69.0));
        assert_eq!(run.scores, [("match".to_owned(), "1".to_owned())]);
        assert_eq!(run.attempts, ["llm ollama/gemma3 - -"]);
        assert_eq!(run.output, "Yes\n");
    }
}

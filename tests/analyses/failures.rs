//! Signatures of failures, and a library that does not depend on order, parts and repetition.

use std::collections::BTreeMap;
use std::path::Path;

use agenteval::config::EvalConfig;
use agenteval::evaluate::Judge;
use agenteval::failures::{
    Day, Gatherer, KnownFailure, Library, LibraryError, SCHEMA, Signature, Status, check, template,
};
use agenteval::model::{Attempt, EndRule, ErrorInfo, Stamp, Trajectory};
use proptest::prelude::*;

/// A run of one step that fails with this message.
fn failing(id: &str, task: &str, message: &str) -> Trajectory<'static> {
    let error = ErrorInfo {
        kind: Some("TimeoutError".into()),
        message: Some(message.to_owned().into()),
        ..ErrorInfo::default()
    };
    let attempt = Attempt {
        kind: "tool".into(),
        name: Some("search".into()),
        error: Some(error),
        ..Attempt::default()
    };
    Trajectory {
        run_id: Some(id.to_owned().into()),
        task_id: Some(task.to_owned().into()),
        status: Some("failed".into()),
        started_at: Some(Stamp::Text(format!("2026-03-{:02}T09:00:00Z", 1 + id.len() % 28).into())),
        attempts: vec![attempt],
        ..Trajectory::default()
    }
}

/// Takes runs into the library of a folder; gives the numbers of new and changed files.
fn collect(folder: &Path, runs: &[Trajectory<'_>]) -> Result<(usize, usize), LibraryError> {
    let mut library = Library::load(folder)?;
    library.take(gather(runs))?;
    let changes = library.save()?;
    Ok((changes.new.len(), changes.changed.len()))
}

fn gather(runs: &[Trajectory<'_>]) -> BTreeMap<String, agenteval::failures::Gathered> {
    let config = EvalConfig::default();
    let judge = Judge::new(&config);
    let mut state = judge.state();
    let gatherer = Gatherer::new(false, false);
    for run in runs {
        let timeline = judge.timeline(&mut state, run);
        gatherer.add(run, &timeline);
    }
    gatherer.finish().expect("few signatures").0
}

/// Name and bytes of every file.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("UTF-8");
            (name, std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Ids are in committed files: a change of this test is a change of the form of the files.
#[test]
fn ids_are_the_same_in_every_version() {
    let signature =
        Signature::of_step("TimeoutError", Some("search"), "tool", "no answer after 30000 ms");
    assert_eq!(signature.template, "no answer after <#> ms");
    // printf 'agenteval.failure/1\nTimeoutError\nsearch\nstep tool\nno answer after <#> ms' | sha256sum
    assert_eq!(signature.id(), "170c21365b90");
    assert_eq!(signature.file_name(), "timeouterror-search-170c21365b90.json");
    let run = Signature::of_run("over_limit", Some("max_steps"), "");
    // printf 'agenteval.failure/1\nover_limit\n\nrun max_steps\n' | sha256sum
    assert_eq!(run.id(), "acaa93a0c13e");
    assert_eq!(run.file_name(), "over_limit-run-max_steps-acaa93a0c13e.json");
}

proptest! {
    #[test]
    fn changing_ids_paths_times_and_numbers_keeps_the_signature(
        hex in "[0-9a-f]{8,40}",
        uuid in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        base62 in "[A-Z][0-9][0-9A-Za-z]{4,20}",
        number in any::<u32>(),
        amount in -1e6..1e6_f64,
        day in 1_u32..=28, hour in 0_u32..24, minute in 0_u32..60,
        path in "(/[a-z_]{1,8}){1,5}(\\.[a-z]{2,3})?",
        query in "[a-z]{1,5}=[0-9a-z]{1,8}",
        user in "[a-z]{1,8}\\.?[a-z0-9]{1,5}",
    ) {
        let message = |hex: &str, uuid: &str, base62: &str, number: u32, amount: f64, time: &str,
                       path: &str, query: &str, user: &str| format!(
            "request {uuid} (trace {hex}, key req_{base62}) of {user}@example.org: cannot open \
             '{path}' or {path} after {number} ms at {time}, amount {amount:.2}: see \
             https://h.example{path}?{query}, order #{number} and [{number}, {number}]"
        );
        let time = format!("2026-03-{day:02}T{hour:02}:{minute:02}:07.123Z");
        let one = message(&hex, &uuid, &base62, number, amount, &time, &path, &query, &user);
        let other = message(
            "0123456789abcdef", "550e8400-e29b-41d4-a716-446655440000", "A1bcdef", 7, 1.5,
            "2025-12-31T23:59:59Z", "/x", "a=b", "ann.b",
        );
        prop_assert_eq!(template(&one), template(&other));
        // Another fault with the same ids is another one.
        let fault = one.replace("cannot open", "cannot write");
        prop_assert_ne!(template(&one), template(&fault));
    }

    #[test]
    fn messages_that_differ_in_a_word_differ(
        words in proptest::collection::vec("[g-z]{2,9}", 1..12),
        at in any::<prop::sample::Index>(),
        other in "[g-z]{2,9}",
    ) {
        let at = at.index(words.len());
        prop_assume!(words[at] != other);
        let mut changed = words.clone();
        changed[at] = other;
        prop_assert_ne!(template(&words.join(" ")), template(&changed.join(" ")));
    }

    #[test]
    fn hostile_messages_make_bounded_templates_of_one_line(message in "\\PC{0,300}|[\\x00-\\x7f]{0,300}") {
        let made = template(&message);
        prop_assert!(made.chars().count() < 700);
        prop_assert!(!made.chars().any(char::is_control), "{made:?}");
        let name = Signature::of_step(&message, Some(&message), &message, &message).file_name();
        prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)), "{name}");
        prop_assert!(!name.contains("..") && !name.starts_with('.') && name.len() < 120, "{name}");
    }
}

#[test]
fn two_faults_have_two_signatures_by_type_tool_step_type_or_words() {
    let base = Signature::of_step("TimeoutError", Some("search"), "tool", "no answer");
    for other in [
        Signature::of_step("ValueError", Some("search"), "tool", "no answer"),
        Signature::of_step("TimeoutError", Some("fetch"), "tool", "no answer"),
        Signature::of_step("TimeoutError", None, "tool", "no answer"),
        Signature::of_step("TimeoutError", Some("search"), "llm", "no answer"),
        Signature::of_step("TimeoutError", Some("search"), "tool", "no connection"),
        Signature::of_run("TimeoutError", None, "no answer"),
    ] {
        assert_ne!(base.id(), other.id(), "{other:?}");
    }
    for pair in [
        ("Request failed with status code 404", "Request failed with status code 500"),
        ("[Errno 2] cannot open /a/b", "[Errno 13] cannot open /a/b"),
        ("订单12345不存在", "订单12345已取消"),
    ] {
        assert_ne!(template(pair.0), template(pair.1), "{pair:?}");
    }
}

#[test]
fn collecting_twice_in_another_order_or_in_two_halves_changes_no_byte() {
    let mut runs: Vec<_> = (0..40)
        .map(|n| {
            failing(
                &format!("run-{n}{}", "x".repeat(n % 5)),
                &format!("task-{}", n % 7),
                &format!("no answer after {n} ms"),
            )
        })
        .collect();
    runs.extend(
        (0..9).map(|n| {
            failing(&format!("other-{n}"), "task-1", &format!("host h{n} is gone for good"))
        }),
    );
    let (whole, twice, halves) = (folder(), folder(), folder());
    assert_eq!(collect(whole.path(), &runs).expect("collected"), (2, 0));
    let expected = files(whole.path());
    assert_eq!(expected.len(), 2, "{:?}", expected.keys());

    assert_eq!(collect(whole.path(), &runs).expect("collected"), (0, 0));
    assert_eq!(files(whole.path()), expected, "the same runs again");

    runs.reverse();
    collect(twice.path(), &runs).expect("collected");
    assert_eq!(files(twice.path()), expected, "another order");

    collect(halves.path(), &runs[20..]).expect("collected");
    collect(halves.path(), &runs[..30]).expect("collected");
    assert_eq!(files(halves.path()), expected, "two parts that overlap");
}

#[test]
fn more_runs_than_are_kept_are_counted_and_still_nothing_depends_on_order() {
    let runs: Vec<_> = (0..2_500).map(|n| failing(&format!("run-{n}"), "task", "lost")).collect();
    let (whole, halves) = (folder(), folder());
    collect(whole.path(), &runs).expect("collected");
    collect(halves.path(), &runs[1_000..]).expect("collected");
    collect(halves.path(), &runs[..1_800]).expect("collected");
    assert_eq!(files(whole.path()), files(halves.path()));
    let library = Library::load(whole.path()).expect("sound");
    let (_, failure) = library.failures().next().expect("one");
    assert_eq!(failure.seen.runs.len(), 1_000);
    let count = failure.seen.runs.count();
    assert!(count.abs_diff(2_500) < 250, "about 2,500, within three standard errors: {count}");
    assert_eq!(failure.seen.attempts(), count, "one attempt each");
}

#[test]
fn what_people_wrote_outlives_a_collection() {
    let place = folder();
    collect(place.path(), &[failing("a", "t", "lost")]).expect("collected");
    let mut library = Library::load(place.path()).expect("sound");
    let id = library.failures().next().expect("one").0.to_owned();
    let failure = library.get_mut(&id).expect("there");
    failure.status = Status::Quarantined(Day::parse("2026-04-01").expect("a day"));
    failure.notes.push("waits for the vendor".to_owned());
    failure.corrected_output = Some("{\"ok\":1.0}".to_owned());
    library.save().expect("saved");
    assert_eq!(collect(place.path(), &[failing("b", "u", "lost")]).expect("collected"), (0, 1));
    let library = Library::load(place.path()).expect("sound");
    let failure = library.get(&id).expect("there");
    assert_eq!(failure.status.until().map(ToString::to_string).as_deref(), Some("2026-04-01"));
    assert_eq!(failure.notes, ["waits for the vendor"]);
    assert_eq!(failure.corrected_output.as_deref(), Some("{\"ok\":1.0}"));
    assert_eq!(failure.seen.task_names(), ["t", "u"]);
}

#[test]
fn an_edit_made_while_runs_were_read_was_written_over() {
    let place = folder();
    collect(place.path(), &[failing("a", "t", "lost")]).expect("collected");
    let mut library = Library::load(place.path()).expect("sound");
    let (id, _) = library.failures().next().expect("one");
    let file = library.file(id).expect("a file").to_owned();
    let text = std::fs::read_to_string(&file).expect("UTF-8");
    let edited = text.replace("\"status\": \"new\"", "\"status\": \"known\"");
    assert_ne!(edited, text);
    std::fs::write(&file, &edited).expect("written");
    library
        .take(gather(&[failing("b", "u", "lost"), failing("c", "v", "host gone")]))
        .expect("few");
    let error = library.save().expect_err("it changed").to_string();
    assert!(error.contains("changed it in the meantime; run the command again"), "{error}");
    let after = files(place.path());
    assert_eq!(after.len(), 1, "nothing is written: {:?}", after.keys());
    assert_eq!(after.into_values().next().expect("one"), edited.into_bytes());
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let place = folder();
    collect(place.path(), &[failing("a\u{202e}\n", "数据", "lost \"x\" <>& \u{7}")])
        .expect("collected");
    for (name, bytes) in files(place.path()) {
        let failure = KnownFailure::from_bytes(&bytes, &name).expect("sound");
        assert_eq!(failure.to_bytes(), bytes);
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(text.contains(SCHEMA) && !text.contains('\u{202e}'), "{text}");
    }
}

#[test]
fn a_run_without_a_failed_step_has_a_signature_and_a_completed_one_has_none() {
    let plain = |status: &'static str, reason: &'static str| Trajectory {
        run_id: Some("r".into()),
        status: Some(status.into()),
        end_reason: Some(reason.into()),
        ..Trajectory::default()
    };
    let found = gather(&[plain("failed", "gave up after 12 turns")]);
    let signatures: Vec<_> = found.values().map(|one| one.signature.clone()).collect();
    assert_eq!(signatures, [Signature::of_run("failed", None, "gave up after 3 turns")]);
    assert!(gather(&[plain("completed", "done")]).is_empty());
    let open = Trajectory { end_rule: Some(EndRule::Unfinished), ..plain("failed", "") };
    assert!(gather(&[open]).is_empty(), "a run that has not ended has not failed");
}

#[test]
fn a_step_that_was_recovered_does_not_explain_a_failed_run() {
    let mut run = failing("a", "t", "lost");
    let mut second = run.attempts[0].clone();
    second.error = None;
    run.attempts.push(second);
    let places: Vec<_> = gather(&[run]).values().map(|one| one.signature.place.clone()).collect();
    assert_eq!(places, ["run"]);
}

#[test]
fn runs_without_ids_are_told_apart_by_what_they_did() {
    let nameless = |message: &str| Trajectory { run_id: None, ..failing("", "t", message) };
    let runs = [nameless("lost 1"), nameless("lost 2"), nameless("lost 1")];
    let found = gather(&runs);
    let seen = &found.values().next().expect("one").seen;
    assert_eq!((found.len(), seen.runs.count()), (1, 2));
}

#[test]
fn a_quarantine_holds_through_its_last_day() {
    let place = folder();
    let runs = [failing("a", "t", "lost")];
    collect(place.path(), &runs).expect("collected");
    let mut library = Library::load(place.path()).expect("sound");
    let id = library.failures().next().expect("one").0.to_owned();
    library.get_mut(&id).expect("there").status =
        Status::Quarantined(Day::parse("2026-04-01").expect("a day"));
    let found = gather(&runs);
    let fails = |day| check(&library, &found, &Day::parse(day).expect("a day")).fails();
    assert!(!fails("2026-03-31") && !fails("2026-04-01") && fails("2026-04-02"));
    for bad in ["2026-02-30", "2026-4-1", "20260401", "", "2026-04-01T00:00"] {
        assert_eq!(Day::parse(bad), None, "{bad}");
    }
}

#[test]
fn nothing_is_written_where_one_file_cannot_be_read() {
    let place = folder();
    let runs = [failing("a", "t", "lost"), failing("b", "t", "gone")];
    collect(place.path(), &runs).expect("collected");
    let mut broken = files(place.path());
    let (name, bytes) = broken.iter_mut().next().expect("one");
    let text = String::from_utf8(bytes.clone()).expect("UTF-8");
    let sound = text.clone();
    for (bad, line, part) in [
        (text.replace("  \"notes\": [", "<<<<<<< HEAD\n  \"notes\": ["), 14, "merge conflict"),
        (text.replace("\"new\"", "\"mended\""), 12, "unknown status"),
        (
            text.replace("\"until\": null", "\"until\": \"2026-04-01\""),
            13,
            "belongs to a quarantine",
        ),
        (text.replace("\"template\": \"", "\"template\": \"not "), 3, "the id is not that"),
        (text.replace("\"notes\"", "\"note\""), 14, "unknown field `note`"),
        (text[..text.len() / 2].to_owned(), 0, "breaks off"),
        (text.replace(SCHEMA, "agenteval.failure/9"), 2, "agenteval.failure/9"),
    ] {
        assert_ne!(bad, sound, "{part}");
        std::fs::write(place.path().join(name), &bad).expect("written");
        let before = files(place.path());
        let error = collect(place.path(), &[failing("c", "t", "new fault")]).expect_err(part);
        let said = error.to_string();
        assert!(said.contains(part) && said.contains(name.as_str()), "{said}");
        if line > 0 {
            assert!(said.contains(&format!("{name}:{line}: ")), "{said}");
        }
        assert_eq!(files(place.path()), before, "{part}");
    }
}

#[test]
fn a_prefix_that_names_several_or_none_is_told_with_what_is_near() {
    let place = folder();
    let letters = [
        "alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "lambda", "theta", "zeta",
        "iota", "rho", "tau", "phi", "chi", "psi", "eta",
    ];
    let runs: Vec<_> = letters.iter().map(|word| failing(word, "t", word)).collect();
    collect(place.path(), &runs).expect("collected");
    let library = Library::load(place.path()).expect("sound");
    let id = library.failures().next().expect("one").0.to_owned();
    assert_eq!(library.resolve(&id.to_uppercase()).as_deref(), Ok(id.as_str()));
    let mut wrong = id.clone();
    wrong.replace_range(11.., if id.ends_with('0') { "1" } else { "0" });
    let said = library.resolve(&wrong).expect_err("no such id").to_string();
    assert!(said.contains("did you mean") && said.contains(&id), "{said}");
    // 17 ids have two that begin alike.
    let ids: Vec<&str> = library.failures().map(|one| one.0).collect();
    let pair = ids.windows(2).find(|pair| pair[0][..1] == pair[1][..1]).expect("a pair");
    let said = library.resolve(&pair[0][..1]).expect_err("several").to_string();
    assert!(said.contains(pair[1]) && said.contains("write more"), "{said}");
}

/// Git may give files the line ends of Windows: that alone is no change.
#[test]
fn line_ends_of_windows_are_no_change_and_no_fault() {
    let place = folder();
    let runs = [failing("a", "t", "lost")];
    collect(place.path(), &runs).expect("collected");
    for (name, bytes) in files(place.path()) {
        let text = String::from_utf8(bytes).expect("UTF-8").replace('\n', "\r\n");
        std::fs::write(place.path().join(name), text).expect("written");
    }
    let before = files(place.path());
    assert_eq!(collect(place.path(), &runs).expect("collected"), (0, 0));
    assert_eq!(files(place.path()), before);
    assert_eq!(collect(place.path(), &[failing("b", "t", "lost")]).expect("collected"), (0, 1));
}

#[test]
fn two_files_of_one_failure_are_told() {
    let place = folder();
    collect(place.path(), &[failing("a", "t", "lost")]).expect("collected");
    let (name, bytes) = files(place.path()).pop_first().expect("one");
    std::fs::write(place.path().join("copy.json"), bytes).expect("written");
    let said = Library::load(place.path()).expect_err("two").to_string();
    assert!(said.contains(&name) && said.contains("copy.json"), "{said}");
}

//! `agenteval failures check`: whether runs bring back what was fixed.

use super::super::args::{FailuresCheck, Global, LibraryMissing, NewFailures, Output};
use super::super::output::{self, Forms, More};
use super::super::{Failure, Outcome, complain};
use super::{gather, keep_library, library};
use crate::exit::Status;
use crate::failures::{Day, Finding, Gatherer, check};
use crate::render::{FailureCheckPage, failure_check_doc, failure_check_wire, pretty_json};

/// Reads runs and holds their failures against the library.
pub(super) fn run(args: &FailuresCheck, global: &Global) -> Outcome {
    let output = Output::from(&args.output);
    output::check(&output, More::Nothing)?;
    let today = match args.today.as_deref() {
        Some(given) => Day::parse(given).ok_or_else(|| {
            Failure::usage(format!("--today {given}: expected a day such as 2026-03-31"))
        })?,
        None => today()?,
    };
    let library = library(&args.store)?;
    keep_library(&output, &library)?;
    if args.missing == LibraryMissing::Fail && !library.folder().exists() {
        return Err(Failure::usage(format!(
            "there is no such folder: {}, so nothing could be back; collect failures first, or add --missing ok for a first run",
            library.folder().display()
        )));
    }
    if library.is_empty() && !global.quiet {
        complain(&format!(
            "warning: there is no failure in {}, so nothing can be back",
            library.folder().display()
        ));
    }
    let gatherer = Gatherer::new(args.recovered, false);
    let set = gather(&args.input, global, &output, &gatherer, false)?;
    let (found, failed_runs) = gatherer.finish()?;
    let checked = check(&library, &found, &today);
    let fails =
        checked.fails() || (args.new == NewFailures::Fail && checked.count(Finding::New) > 0);
    let page = FailureCheckPage {
        check: &checked,
        runs: set.rows.len() as u64,
        failed_runs,
        today: &today,
        new: match args.new {
            NewFailures::Warn => "warn",
            NewFailures::Fail => "fail",
            NewFailures::Ignore => "ignore",
        },
        fails,
        locate: &|place| set.tally.locate(place),
    };
    output::emit(
        &Forms::page(&|| failure_check_doc(&page), &|| pretty_json(&failure_check_wire(&page))),
        &output,
        global,
    )?;
    Ok(if fails { Status::Regression } else { Status::Done })
}

/// Today in UTC, so that it is the same day on every machine of a CI.
fn today() -> Result<Day, Failure> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok();
    let seconds = now.and_then(|now| i64::try_from(now.as_secs()).ok());
    let stamp = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let text = stamp.map(|stamp| stamp.to_string()).unwrap_or_default();
    Day::parse(text.get(..10).unwrap_or_default())
        .ok_or_else(|| Failure::usage("the clock tells no day; give one as --today 2026-03-31"))
}

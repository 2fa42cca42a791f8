//! The command line: what people type, and one file per command.
//!
//! Owns arguments, files that are written, progress, and exit codes. Results go to standard output,
//! everything else to standard error. Refuses to compute.

mod against;
mod analyze;
mod args;
mod baseline;
mod budgets;
mod chart;
mod ci;
mod collect;
mod compare;
mod convert;
mod demo;
mod diagnose;
mod each;
mod explain;
mod failures;
mod gate;
mod horizon;
mod init;
mod inspect;
mod map;
mod output;
mod pages;
mod plan;
mod progress;
mod query;
mod report;
mod review;
mod runs;
mod schema;
mod show;
mod split;

use std::io::Write;

use clap::{CommandFactory, Parser};

use crate::exit::Status;
use crate::render::one_line;
use args::{Args, Command};

/// An error that ends a command, with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    /// Bad usage, bad config or unreadable input.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { status: Status::Usage, message: message.into() }
    }

    /// Nothing was evaluated.
    pub(crate) fn nothing(message: impl Into<String>) -> Self {
        Self { status: Status::Nothing, message: one_line(&message.into()) }
    }
}

impl From<crate::ingest::ReadError> for Failure {
    fn from(error: crate::ingest::ReadError) -> Self {
        // It names files, and a name may have a line break, after which anything could be said.
        Self::usage(one_line(&error.to_string()))
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::usage(error.render())
    }
}

impl From<crate::baseline::BaselineError> for Failure {
    fn from(error: crate::baseline::BaselineError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<crate::failures::LibraryError> for Failure {
    fn from(error: crate::failures::LibraryError) -> Self {
        Self::usage(error.to_string())
    }
}

type Outcome = Result<Status, Failure>;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> Status {
    // A fault of our own is one line and exit 70, not a trace of the stack.
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        complain(&format!(
            "agenteval: a fault of agenteval itself{}: {}; please report it with the command",
            place.unwrap_or_default(),
            info.payload_as_str().unwrap_or("unknown"),
        ));
    }));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            if error.use_stderr() {
                return Status::Usage;
            }
            return match output::printed(printed) {
                Ok(status) => status,
                Err(failure) => told(&failure),
            };
        }
    };
    let ended = std::panic::catch_unwind(|| dispatch(args));
    crate::drafts::settle();
    match ended {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => told(&failure),
        Err(_) => Status::Fault,
    }
}

/// Tells a failure on standard error.
fn told(failure: &Failure) -> Status {
    // Rendered config errors bring their own head.
    let message = failure.message.trim_end();
    let head = if message.starts_with("error: ") { "" } else { "error: " };
    complain(&format!("{head}{message}"));
    failure.status
}

/// Writes to standard error, without what could disturb a terminal: names of files and texts of
/// traces are in it. A closed one is no reason to fail.
pub(crate) fn complain(text: &str) {
    let safe: Vec<String> = text.lines().map(one_line).collect();
    drop(writeln!(std::io::stderr().lock(), "{}", safe.join("\n")));
}

fn dispatch(args: Args) -> Outcome {
    match args.command {
        Command::Analyze(analyze) => analyze::run(&analyze, &args.global),
        Command::Inspect(inspect) => inspect::run(&inspect, &args.global),
        Command::Show(show) => show::run(&show, &args.global),
        Command::Explain(explain) => explain::run(&explain, &args.global),
        Command::Compare(compare) => compare::run(&compare, &args.global),
        Command::Gate(gate) => gate::run(&gate, &args.global),
        Command::Report(report) => report::run(&report, &args.global),
        Command::Baseline(baseline) => baseline::run(&baseline.command, &args.global),
        Command::Chart(chart) => chart::run(&chart, &args.global),
        Command::Budgets(budgets) => budgets::run(&budgets, &args.global),
        Command::Readiness(readiness) => budgets::ready(&readiness, &args.global),
        Command::Diagnose(diagnose) => diagnose::run(&diagnose, &args.global),
        Command::Failures(failures) => failures::run(&failures.command, &args.global),
        Command::Horizon(horizon) => horizon::run(&horizon, &args.global),
        Command::Review(review) => review::run(&review.command, &args.global),
        Command::Plan(plan) => plan::run(&plan, &args.global),
        Command::Demo(demo) => demo::run(&demo, &args.global),
        Command::Map(map) => map::run(&map.command, &args.global),
        Command::Convert(convert) => convert::run(&convert, &args.global),
        Command::Query(query) => query::run(&query, &args.global),
        Command::Schema(schema) => schema::run(&schema),
        Command::Init(init) => init::run(&init),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "agenteval", &mut text);
            output::print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            // One page for the program, and one for each command, in a row.
            let mut text = Vec::new();
            let mut program = Args::command();
            program.build();
            let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
            for page in std::iter::once(&program).chain(commands) {
                clap_mangen::Man::new(page.clone())
                    .render(&mut text)
                    .map_err(|error| Failure::usage(error.to_string()))?;
            }
            output::print(&String::from_utf8_lossy(&text))
        }
    }
}

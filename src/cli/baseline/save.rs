//! `baseline save` and `baseline bless`: reading runs, and writing what is kept of them.

use std::path::{Path, PathBuf};

use super::super::args::{BaselineBless, BaselineSave, Form, Global, Input, Output};
use super::super::runs::{self, Loaded};
use super::super::{Failure, Outcome, complain, output};
use super::{inputs, judging, origin, store};
use crate::baseline::{Baseline, ConfigFile, Origin, Store};
use crate::metrics::Set;
use crate::render::{count, mask, one_line, percent};

/// Bytes that a reason may have: it is a line in a file, not a page.
const MAX_REASON: usize = 2000;

/// Saves runs under a name: new, in the place of another, or beside those that are there.
pub(super) fn save(args: &BaselineSave, global: &Global) -> Outcome {
    let store = store(&args.store)?;
    let _lock = lock(&store);
    let file = store.file(&args.name)?;
    let exists = file.exists();
    if exists && !args.force && !args.pool {
        let name = &args.name;
        return Err(Failure::usage(format!(
            "there is a baseline `{name}` already ({}); replace it with `agenteval baseline bless {name} PATH... --reason TEXT`, add these runs to it with --pool, or overwrite it with --force",
            file.display()
        )));
    }
    let previous = match store.load(&args.name) {
        Ok(previous) => Some(previous),
        Err(_) if !exists => None,
        Err(error) if args.force => {
            if !global.quiet {
                complain(&format!("warning: its history is lost: {error}"));
            }
            None
        }
        Err(error) => return Err(error.into()),
    };
    if args.pool && previous.is_none() {
        return Err(Failure::usage(format!(
            "{}; --pool adds to a baseline that is there, save it first without",
            store.missing(&args.name)
        )));
    }
    let origin = origin::origin(&args.origin, None)?;
    let made = read(&args.name, &args.input, global, &file, &origin)?;
    let made = match &previous {
        Some(previous) if args.pool => previous.pool(made, args.keep)?,
        Some(previous) => moved(made, previous, None, &origin, global),
        None => made,
    };
    let word = if args.pool { "pooled into" } else { "saved" };
    write(&made, &store, word)
}

/// Keeps other saves to this store waiting until it is dropped, so that what two of them add is not
/// lost. The system lets go of it where the program ends, however that comes about. A folder that is
/// not there yet, or cannot be locked, keeps nobody waiting.
fn lock(store: &Store) -> Option<std::fs::File> {
    let folder = std::fs::File::open(store.folder()).ok()?;
    folder.lock().is_ok().then_some(folder)
}

/// Puts runs in the place of a baseline, with a reason.
pub(super) fn bless(args: &BaselineBless, global: &Global) -> Outcome {
    let store = store(&args.store)?;
    let _lock = lock(&store);
    let file = store.file(&args.name)?;
    let reason = reason(&args.reason)?;
    if !file.exists() {
        return Err(Failure::usage(format!(
            "{}; bless moves a baseline that is there, `agenteval baseline save` makes one",
            store.missing(&args.name)
        )));
    }
    let previous = store.load(&args.name)?;
    let origin = origin::origin(&args.origin, Some(args.by.as_deref()))?;
    let made = read(&args.name, &args.input, global, &file, &origin)?;
    if !global.quiet {
        for difference in previous.differences(&made.judging) {
            complain(&format!("note: judged by other rules than before: {difference}"));
        }
    }
    let made = moved(made, &previous, Some(&reason), &origin, global);
    write(&made, &store, "blessed")
}

/// A reason on one line and without secrets.
fn reason(given: &str) -> Result<String, Failure> {
    let words: Vec<&str> = given.split_whitespace().collect();
    let reason = mask(&words.join(" "));
    if reason.is_empty() {
        return Err(Failure::usage(
            "--reason is empty; say why these runs are accepted, it is kept in the history",
        ));
    }
    if reason.len() > MAX_REASON {
        return Err(Failure::usage(format!(
            "--reason has more than {MAX_REASON} bytes; say it in a few words"
        )));
    }
    Ok(reason)
}

/// Reads and judges as `analyze` does, and makes a baseline of what is there.
fn read(
    name: &str,
    input: &Input,
    global: &Global,
    file: &Path,
    origin: &Origin,
) -> Result<Baseline, Failure> {
    let loaded = Loaded::config(&input.reading, global)?;
    let judging = judging(&loaded, &input.reading)?;
    // The file that is to be written must be none that is read.
    let written = Output { output: Form::Table, files: vec![file.to_owned()] };
    let (set, _) = runs::read(
        &input.paths,
        &input.reading,
        global,
        &loaded,
        &written,
        &|judge, state, run| (judge.row(state, run), ()),
    )?;
    set.warn(global);
    set.require_runs()?;
    let config = loaded.path.as_ref().map(|_| ConfigFile {
        task_name: loaded.config.task_name.as_deref().map(mask),
        sha256: loaded.config.sha256.clone(),
    });
    let inputs = inputs::inputs(&set, &input.paths)?;
    Ok(Baseline::new(name, config, judging, &set.rows, inputs, origin))
}

/// Takes on the history, and warns of a baseline that only ever gets better.
fn moved(
    made: Baseline,
    previous: &Baseline,
    reason: Option<&str>,
    origin: &Origin,
    global: &Global,
) -> Baseline {
    let made = made.in_place_of(previous, reason, origin);
    if made.only_moved_up() && !global.quiet {
        complain(&format!(
            "warning: best_of_many: `{name}` was moved {} times, each time to a higher completion rate: a baseline that moves only when runs are better keeps their luck, and the gate then fails more and more without any change; add runs with `agenteval baseline save {name} PATH... --pool --keep 5` instead",
            made.history.len(),
            name = made.name
        ));
    }
    made
}

/// Writes the file whole or not at all, and tells what is in it.
fn write(baseline: &Baseline, store: &Store, word: &str) -> Outcome {
    let bytes = baseline.to_bytes();
    let folder = store.folder();
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::usage(format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    // Once more, because reading took its time.
    let file: PathBuf = store.file(&baseline.name)?;
    output::write_file(&file, &bytes)?;
    let (ended, completed) = baseline.completion();
    let rate = match ended {
        0 => "no run has ended".to_owned(),
        _ => format!(
            "{}/{} completed ({})",
            count(completed),
            count(ended),
            percent(completed as f64 / ended as f64)
        ),
    };
    let runs = baseline.rows.len() as u64;
    let tasks = u64::from(Set::new(baseline.rows.iter().collect()).tasks());
    let saves = match baseline.saves.len() {
        1 => String::new(),
        saves => format!(" from {saves} saves"),
    };
    // What stood there before, so that nobody moves the bar unawares.
    let before = baseline.history.last().filter(|_| word != "pooled into").map(|moved| {
        let share = moved.completed as f64 / moved.ended.max(1) as f64;
        format!("; before: {}/{} ({})", count(moved.completed), count(moved.ended), percent(share))
    });
    output::print(&format!(
        "{word} {}: {} runs of {} tasks{saves}, {rate}{}\n{}\n",
        baseline.name,
        count(runs),
        count(tasks),
        before.unwrap_or_default(),
        one_line(&file.display().to_string())
    ))
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn a_reason_is_one_line_and_never_empty() {
        assert_eq!(reason(" new\n prompt ").ok().as_deref(), Some("new prompt"));
        assert!(reason(" \n\t ").is_err());
        assert!(reason(&"x".repeat(2001)).is_err());
    }
}

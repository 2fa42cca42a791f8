//! What a call of a shell or another program is for: it looks at something, waits, or runs something.
//!
//! Owns the reading of command lines in recorded inputs, as far as rules need it: which calls may have
//! changed what a later one sees. Refuses to understand a shell; what is not known to look, runs.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Action;
use super::names::words;
use crate::evaluate::Verdict;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// It shows what is there: `ls`, `cat`, `git status`.
    Looks,
    /// It lets time pass: `sleep`.
    Waits,
    /// It may do anything.
    Runs,
}

/// Bytes of an input that are looked at.
const LOOKED_AT: usize = 4_000;

/// Keys under which tools that run commands take them.
const KEYS: [&str; 6] = ["command", "cmd", "commands", "keystrokes", "code", "script"];

/// Programs that only show something, and the commands of editors that do.
const LOOKING: [&str; 27] = [
    "ls", "cat", "head", "tail", "grep", "rg", "egrep", "fgrep", "pwd", "cd", "wc", "nl", "tree",
    "file", "stat", "which", "echo", "view", "open", "goto", "less", "more", "du", "df", "date",
    "env", "whoami",
];

/// Words of names of tools that run checks, which are rightly run again after a change.
const CHECKING: [&str; 9] =
    ["test", "tests", "pytest", "lint", "build", "compile", "check", "verify", "validate"];

/// Words that names of tools begin with that only look or think.
const READING: [&str; 20] = [
    "get",
    "search",
    "find",
    "list",
    "view",
    "read",
    "look",
    "lookup",
    "show",
    "fetch",
    "query",
    "think",
    "reflect",
    "calculate",
    "retrieve",
    "describe",
    "grep",
    "glob",
    "ls",
    "open",
];

/// What a call does that runs a command or a check; `None` for every other tool.
pub(super) fn manner(action: &Action<'_>) -> Option<Manner> {
    let names = action.name.map(words).unwrap_or_default();
    if names.first().is_some_and(|word| ["wait", "sleep"].contains(&word.as_str())) {
        return Some(Manner::Waits);
    }
    let checks = || names.iter().any(|word| CHECKING.contains(&word.as_str()));
    let line = action.input.and_then(|input| command(input, action.name));
    match line {
        Some(line) => Some(of_line(&line)),
        None => checks().then_some(Manner::Runs),
    }
}

/// Whether a tool that runs no command does more than look, by the word that its name begins with.
fn acts(action: &Action<'_>) -> bool {
    let first = action.name.map(words).unwrap_or_default().into_iter().next();
    first.is_some_and(|word| !READING.contains(&word.as_str()))
}

/// What came last before each action of a run. Read on first demand: most runs have no call to ask
/// it for.
#[derive(Default)]
pub(super) struct Before(OnceCell<Vec<Last>>);

/// What came last before one action.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Last {
    /// The place of the last other call that may have changed something; time changes things, too.
    pub(super) change: Option<usize>,
    /// The place of the last call that only waited.
    pub(super) wait: Option<usize>,
}

impl Before {
    /// What came last before the action at this place.
    pub(super) fn of(&self, at: usize, actions: &[Action<'_>]) -> Last {
        self.0.get_or_init(|| read(actions)).get(at).copied().unwrap_or_default()
    }
}

fn read(actions: &[Action<'_>]) -> Vec<Last> {
    let same = |a: usize, b: usize| {
        let call = |at: usize| actions.get(at).map(|one| (one.label(), one.attempt.input));
        call(a) == call(b)
    };
    // The last change, and the last one by another call than that.
    let (mut last, mut other): (Option<usize>, Option<usize>) = (None, None);
    let mut wait = None;
    let mut found = Vec::with_capacity(actions.len());
    for (at, action) in actions.iter().enumerate() {
        let own = last.is_some_and(|last| same(last, at));
        found.push(Last { change: if own { other } else { last }, wait });
        if action.verdict == Verdict::Failed {
            continue;
        }
        let manner = manner(action);
        if manner == Some(Manner::Waits) {
            wait = Some(at);
        }
        if manner.map_or_else(|| acts(action), |manner| manner != Manner::Looks) {
            if !own {
                other = last;
            }
            last = Some(at);
        }
    }
    found
}

/// The command line in an input: under a key that holds one, or the text itself where it begins with
/// the name of the tool.
fn command(input: &str, name: Option<&str>) -> Option<String> {
    if input.len() > LOOKED_AT * 16 {
        return None;
    }
    if input.starts_with('"') {
        let text: String = serde_json::from_str(input).ok()?;
        let first = text.split_whitespace().next()?;
        return (Some(first) == name).then_some(text);
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(input).ok()?;
    let value = KEYS.iter().find_map(|key| fields.get(*key))?.get();
    serde_json::from_str::<String>(value)
        .ok()
        .or_else(|| Some(serde_json::from_str::<Vec<String>>(value).ok()?.join(" ")))
}

/// What a command line does: the most that one of its parts does.
fn of_line(line: &str) -> Manner {
    let line = line.get(..line.floor_char_boundary(LOOKED_AT)).unwrap_or(line);
    let line = line.trim_start_matches("bash -lc ").trim_start_matches("bash -c ");
    let quiet = line.replace("2>&1", "").replace("2>/dev/null", "").replace(">/dev/null", "");
    let (mut waits, mut looks) = (false, false);
    for part in parts(&quiet) {
        match of_part(&part) {
            Some(Manner::Runs) => return Manner::Runs,
            Some(Manner::Waits) => waits = true,
            Some(Manner::Looks) => looks = true,
            None => {}
        }
    }
    if waits && !looks { Manner::Waits } else { Manner::Looks }
}

/// The commands of a line, without what stands in quotes.
fn parts(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if matches!(c, ';' | '|' | '&' | '\n') => found.push(String::new()),
            None => {
                if let Some(part) = found.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    found
}

/// What one command does; `None` where there is none.
fn of_part(part: &str) -> Option<Manner> {
    let mut given = part.split_whitespace();
    let program = given.next()?;
    let rest: Vec<&str> = given.collect();
    if part.contains('>') {
        return Some(Manner::Runs);
    }
    let without = |flags: &[&str]| !rest.iter().any(|one| flags.iter().any(|f| one.starts_with(f)));
    let looks = match program {
        "sleep" | "wait" => return Some(Manner::Waits),
        "sed" => without(&["-i", "--in-place"]),
        "find" => without(&["-exec", "-delete", "-ok"]),
        "git" => rest.first().is_some_and(|word| {
            ["status", "log", "diff", "show", "blame", "grep", "ls-files"].contains(word)
        }),
        other => LOOKING.contains(&other),
    };
    Some(if looks { Manner::Looks } else { Manner::Runs })
}

#[cfg(test)]
mod tests {
    use super::{Manner, command, of_line};

    #[test]
    fn a_line_does_the_most_that_one_of_its_commands_does() {
        for line in
            ["ls -la", "cd src && grep -n \"a;b | rm x\" f.py | head", "sed -n 1,9p f", "git diff"]
        {
            assert_eq!(of_line(line), Manner::Looks, "{line}");
        }
        for line in ["pytest -x", "cat a > b", "ls; rm a", "sed -i s/a/b/ f", "find . -delete"] {
            assert_eq!(of_line(line), Manner::Runs, "{line}");
        }
        for line in ["sleep 50\n", "sleep 2; sleep 2", "wait"] {
            assert_eq!(of_line(line), Manner::Waits, "{line}");
        }
        assert_eq!(of_line("sleep 5 && pytest"), Manner::Runs);
        assert_eq!(of_line("sleep 5; cat log"), Manner::Looks);
    }

    #[test]
    fn a_command_is_found_in_a_text_an_object_and_a_list() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(command(r#""ls -a""#, Some("ls")), some("ls -a"));
        assert_eq!(command(r#""how are you""#, Some("ask")), None);
        assert_eq!(command(r#"{"cmd": "ls"}"#, None), some("ls"));
        assert_eq!(command(r#"{"command": ["bash", "-lc", "ls"]}"#, None), some("bash -lc ls"));
        assert_eq!(command(r#"{"query": "ls"}"#, None), None);
    }
}

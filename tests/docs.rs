//! Every command that the documents show gives what they show.
//!
//! An example is a fenced block of the kind `console`: a line `$ agenteval ...`, then its standard
//! output, for a command that ends in `2>&1` its standard error before that. A last line `...`
//! says that the rest is cut. After a change of the output, `UPDATE_DOCS=1 cargo test --test docs`
//! writes the examples anew; read the difference before it is committed.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The line that cuts an output short.
const CUT: &str = "...";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// One command and what a document shows of its output.
struct Example {
    /// Line of the command, from 1.
    line: usize,
    command: String,
    shown: Vec<String>,
}

/// The examples of a text, and faults in how they are written.
fn examples(text: &str) -> (Vec<Example>, Vec<String>) {
    let (mut found, mut faults) = (Vec::<Example>::new(), Vec::new());
    let (mut inside, mut bare) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
            bare = inside;
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            if !command.starts_with("agenteval ") {
                faults.push(format!("line {number}: `{command}` is not run by this test"));
            }
            found.push(Example { line: number, command: command.to_owned(), shown: Vec::new() });
            bare = false;
        } else if bare {
            faults.push(format!("line {number}: an example begins with `$ agenteval`"));
            bare = false;
        } else if let Some(example) = found.last_mut() {
            if example.shown.last().is_some_and(|last| last == CUT) {
                faults.push(format!("line {number}: `...` is not the last line of its output"));
            }
            example.shown.push(line.trim_end().to_owned());
        }
    }
    (found, faults)
}

/// The words of a command line: spaces part them, quotes hold them together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Runs a command; gives its output by lines, or why it cannot be shown.
fn run(command: &str) -> Result<Vec<String>, String> {
    let (plain, both) = match command.strip_suffix(" 2>&1") {
        Some(plain) => (plain, true),
        None => (command, false),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_agenteval"))
        .args(words(plain).iter().skip(1))
        .current_dir(root())
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && !both {
        return Err(format!("it ends with {}: {errors}", output.status));
    }
    let mut text = if both { errors.into_owned() } else { String::new() };
    text += &String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(|line| line.trim_end().to_owned()).collect())
}

/// The output as a document shows it: cut where the document cuts it.
fn as_shown(example: &Example, output: &[String]) -> Vec<String> {
    match example.shown.split_last() {
        Some((last, before)) if last == CUT && before.len() < output.len() => {
            let mut lines = output[..before.len()].to_vec();
            lines.push(CUT.to_owned());
            lines
        }
        _ => output.to_vec(),
    }
}

/// The text with the output of each example put in place of what it shows.
fn updated(text: &str, outputs: &[(Example, Vec<String>)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut new, mut at) = (String::new(), 0);
    for (example, output) in outputs {
        for line in lines[at..example.line].iter().copied().chain(output.iter().map(String::as_str))
        {
            writeln!(new, "{line}").unwrap();
        }
        at = example.line + example.shown.len();
    }
    for line in &lines[at..] {
        writeln!(new, "{line}").unwrap();
    }
    new
}

#[test]
fn commands_in_the_documents_print_what_is_shown() {
    let update = std::env::var_os("UPDATE_DOCS").is_some_and(|value| !value.is_empty());
    let (mut faults, mut count) = (Vec::new(), 0);
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display();
        let (found, badly_written) = examples(&text);
        faults.extend(badly_written.iter().map(|fault| format!("{name}: {fault}")));
        let mut outputs = Vec::new();
        for example in found {
            count += 1;
            let place = format!("{name}:{}: `{}`", example.line, example.command);
            match run(&example.command) {
                Err(why) => faults.push(format!("{place}: {why}")),
                Ok(output) => {
                    let output = as_shown(&example, &output);
                    if output != example.shown && !update {
                        let both = [output.join("\n"), example.shown.join("\n")];
                        let [is, shown] = both;
                        faults.push(format!("{place} prints\n{is}\nand not\n{shown}\n"));
                    }
                    outputs.push((example, output));
                }
            }
        }
        if update && faults.is_empty() {
            std::fs::write(&path, updated(&text, &outputs)).unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(count >= 20, "only {count} examples were found");
}

#[test]
fn blocks_of_other_kinds_are_left_alone_and_bad_examples_are_told() {
    let (found, faults) =
        examples("```sh\n$ rm x\n```\n```console\n$ agenteval schema config\na\n...\n```\ntext\n");
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!((found.len(), found[0].line), (1, 5));
    assert_eq!(found[0].shown, ["a", CUT]);
    let (_, faults) = examples("```console\nout\n```\n```console\n$ ls\n...\nmore\n```\n");
    assert_eq!(faults.len(), 3, "{faults:?}");
}

#[test]
fn quotes_hold_words_together() {
    assert_eq!(
        words("agenteval  --where 'a == \"b c\"' \"\""),
        ["agenteval", "--where", "a == \"b c\"", ""]
    );
}

#[test]
fn an_update_replaces_the_output_and_nothing_else() {
    let text = "a\n```console\n$ agenteval x\nold\n```\nz\n";
    let (found, _) = examples(text);
    let outputs: Vec<_> = found.into_iter().map(|e| (e, vec!["new".to_owned()])).collect();
    assert_eq!(updated(text, &outputs), "a\n```console\n$ agenteval x\nnew\n```\nz\n");
}

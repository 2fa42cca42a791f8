//! `agenteval map`: field mappings, drafted, listed and shown.

use std::io::IsTerminal as _;

use super::args::{Global, MapCommand};
use super::{Failure, Outcome, complain, output};
use crate::config::mapping::{READY, ready};
use crate::ingest::suggest_mapping;
use crate::model::nearest;

/// Runs one of its commands.
pub(super) fn run(command: &MapCommand, global: &Global) -> Outcome {
    match command {
        MapCommand::Suggest { file } => {
            let draft = suggest_mapping(file)?;
            if let Some(name) = draft.ready.filter(|_| !global.quiet) {
                complain(&format!(
                    "a mapping for these records ships with the program: --map {name}"
                ));
            }
            // Where the draft goes into a file, nobody would see what it leaves open.
            if !global.quiet && !std::io::stdout().is_terminal() {
                draft.notes.iter().for_each(|note| complain(&format!("note: {note}")));
            }
            output::print(&draft.text)
        }
        MapCommand::List => {
            let width = READY.iter().map(|ready| ready.name.len()).max().unwrap_or(0);
            let lines =
                READY.iter().map(|ready| format!("{:width$}  {}\n", ready.name, ready.about));
            output::print(&lines.collect::<String>())
        }
        MapCommand::Show { name } => match ready(name) {
            Some(ready) => output::print(ready.text),
            None => {
                let names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
                let help = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", names.join(", ")),
                };
                Err(Failure::usage(format!("no mapping `{name}` ships with the program: {help}")))
            }
        },
    }
}

//! `agenteval init`: a config to start from, and a CI workflow. Never overwrites.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::args::Init;
use super::{Failure, Outcome, ci, output};

/// Writes `eval-configs/NAME.json`, `.agenteval/`, and with `--ci` a workflow.
pub(super) fn run(args: &Init) -> Outcome {
    let name = args.name.as_str();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Failure::usage(format!(
            "init {name}: a name has letters, digits, `-`, `_` and `.`, and does not start with `.`"
        )));
    }
    let config = Path::new("eval-configs").join(format!("{name}.json"));
    let readme = Path::new(".agenteval").join("README.md");
    let (mut told, mut next) = (String::new(), String::new());
    write(&config, &starter(name), &mut told)?;
    write(&readme, README, &mut told)?;
    next.push_str(&format!(
        "next: agenteval analyze TRACES -c {} (a config called agenteval.json, here or above, needs no -c)\n",
        config.display()
    ));
    if let Some(service) = args.ci {
        // With `/` on every system: the workflow runs elsewhere.
        let workflow = ci::workflow(service, &format!("eval-configs/{name}.json"));
        // A file that was there already is the user's, and what is left to do in it is not known.
        if write(&workflow.path, &workflow.text, &mut told)? {
            next.extend(workflow.next.iter().map(|line| format!("next: {line}\n")));
        }
    }
    told.push_str(&next);
    output::print(&told)
}

/// Creates a file and tells so; `false` where one is there already.
fn write(path: &Path, content: &str, told: &mut String) -> Result<bool, Failure> {
    let written = create(path, content)?;
    let word = if written { "wrote" } else { "kept (it is there already)" };
    told.push_str(&format!("{word} {}\n", path.display()));
    Ok(written)
}

/// Creates a file; `false` where one is there already, which is left as it is.
fn create(path: &Path, content: &str) -> Result<bool, Failure> {
    let fail =
        |error: std::io::Error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(content.as_bytes()).map(|()| true).map_err(fail),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(fail(error)),
    }
}

const README: &str = "\
# .agenteval

Files that agenteval keeps for this project. Commit this folder.
";

fn starter(name: &str) -> String {
    // Written out, because a map would sort its keys. The name holds no character that JSON escapes.
    format!(
        r#"{{
  "task_name": "{name}",
  "max_steps": 30,
  "evaluation": {{
    "max_retry_per_step": 3,
    "allowed_total_retries": 10,
    "timeout_seconds": 600
  }},
  "metrics": [
    "first_step_accuracy",
    "mid_term_error_rate",
    "mid_term_recovery_rate",
    "final_completion_rate",
    "avg_retry_count"
  ],
  "gate": {{"metrics": ["final_completion_rate"]}}
}}
"#
    )
}

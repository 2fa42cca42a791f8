//! The CI workflows that `agenteval init --ci` writes, filled from templates.
//!
//! `docs/ci/` shows the same texts. Where the address of the project is not known at build time, a
//! place for it is left that no account can have as its name, and the reader is told.

use std::path::PathBuf;

use super::args::Ci;

/// Where releases are, as Cargo.toml says; empty where it does not.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// No account can be called so: a workflow that is not filled in ends with an error, and runs
/// nothing of a stranger who took a likely name.
const PLACE: &str = "<OWNER>/agenteval";

const GITHUB: &str = "https://github.com/";

/// A workflow to be written.
#[derive(Debug)]
pub(super) struct Workflow {
    /// Where it goes, from the top of the user's repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// What is left to the user, a line each.
    pub(super) next: Vec<String>,
}

/// The workflow for a CI service that uses this eval config.
///
/// `config` is the path of the config; its name has letters, digits, `-`, `_` and `.` alone, which
/// neither YAML nor a shell reads as anything else.
pub(super) fn workflow(ci: Ci, config: &str) -> Workflow {
    filled(ci, config, REPOSITORY)
}

fn filled(ci: Ci, config: &str, repository: &str) -> Workflow {
    let version = env!("CARGO_PKG_VERSION");
    let slug = repository.trim_end_matches('/').trim_end_matches(".git").strip_prefix(GITHUB);
    let project = slug.unwrap_or(PLACE);
    let (path, template) = match ci {
        Ci::Github => (".github/workflows/agenteval.yml", include_str!("ci/github.yml")),
        Ci::Gitlab => (".gitlab-ci.agenteval.yml", include_str!("ci/gitlab.yml")),
    };
    let text = template
        .replace("@ACTION@", &format!("{project}@v{version}"))
        .replace("@REPOSITORY@", &format!("{GITHUB}{project}"))
        .replace("@VERSION@", version)
        .replace("@CONFIG@", config);
    let mut next = Vec::new();
    if slug.is_none() {
        next.push(format!(
            "in {path}, put the account that agenteval is released under for <OWNER>"
        ));
    }
    next.push(format!("in {path}, fill in the step that runs the agent"));
    if ci == Ci::Gitlab {
        next.push(format!("in .gitlab-ci.yml, add `include: [{{local: {path}}}]`"));
    }
    Workflow { path: path.into(), text, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_repository_leaves_no_place_to_fill_but_the_agent() {
        for address in
            ["https://github.com/acme/agenteval", "https://github.com/acme/agenteval.git"]
        {
            let github = filled(Ci::Github, "c.json", address);
            let action = format!("uses: acme/agenteval@v{}\n", env!("CARGO_PKG_VERSION"));
            assert_eq!(github.text.matches(&action).count(), 2, "{}", github.text);
            let gitlab = filled(Ci::Gitlab, "c.json", address);
            assert!(
                gitlab.text.contains("AGENTEVAL_REPOSITORY: https://github.com/acme/agenteval\n")
            );
            for workflow in [github, gitlab] {
                assert!(!workflow.text.contains("<OWNER>"), "{}", workflow.text);
                assert!(!workflow.next.iter().any(|line| line.contains("<OWNER>")));
            }
        }
    }

    #[test]
    fn an_unknown_repository_is_left_open_and_told() {
        for (ci, address) in [(Ci::Github, ""), (Ci::Gitlab, "https://example.org/a/b")] {
            let workflow = filled(ci, "c.json", address);
            assert!(workflow.text.contains(PLACE), "{}", workflow.text);
            assert!(workflow.next[0].contains("<OWNER>"), "{:?}", workflow.next);
        }
    }

    #[test]
    fn every_place_of_a_template_is_filled() {
        for ci in [Ci::Github, Ci::Gitlab] {
            let text = filled(ci, "eval-configs/x.json", "").text;
            for place in ["@ACTION@", "@REPOSITORY@", "@VERSION@", "@CONFIG@"] {
                assert!(!text.contains(place), "{place} in {text}");
            }
            assert!(text.contains("eval-configs/x.json"));
        }
    }
}

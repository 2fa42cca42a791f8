//! What runs the gate elsewhere: `action.yml` and its scripts, the release workflow, the workflows
//! that `init --ci` writes.
//!
//! The scripts run here as a runner would start them, with a `curl`, a `cargo` and an `agenteval`
//! that are played.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod support {
    pub(crate) mod cli;
}

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::cli::{Folder, Ran, agenteval};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const TARGET: &str = "x86_64-unknown-linux-musl";

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

fn parsed(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn yaml(path: &str) -> Value {
    parsed(&text(path))
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Every string under a key of this name, however deep.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => {
            found.extend(fields.get(key).and_then(Value::as_str));
            fields.values().collect()
        }
        _ => return,
    };
    inner.into_iter().for_each(|value| all(value, key, found));
}

fn every<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found
}

/// What `init --ci SERVICE` writes in an empty folder, and what it says.
fn init(folder: &Folder, service: &str) -> Ran {
    Ran::of(agenteval().current_dir(folder.path()).args(["init", "--ci", service]))
}

const WORKFLOWS: [(&str, &str, &str); 2] = [
    ("github", ".github/workflows/agenteval.yml", "docs/ci/github.yml"),
    ("gitlab", ".gitlab-ci.agenteval.yml", "docs/ci/gitlab-ci.yml"),
];

#[test]
fn no_shell_reads_an_expression() {
    for path in ["action.yml", ".github/workflows/release.yml", "docs/ci/github.yml"] {
        let file = yaml(path);
        let scripts = every(&file, "run");
        assert!(!scripts.is_empty(), "{path} runs nothing");
        for script in scripts {
            assert!(!script.contains("${{"), "{path}: {script}");
        }
    }
}

#[test]
fn actions_of_others_are_pinned_and_permissions_are_few() {
    for path in ["action.yml", ".github/workflows/release.yml", "docs/ci/github.yml"] {
        for used in every(&yaml(path), "uses") {
            let (_, version) = used.split_once('@').expect("a version");
            let pinned =
                version.starts_with('v') && version[1..].starts_with(|c: char| c.is_ascii_digit());
            assert!(pinned, "{path}: {used}");
        }
    }
    assert_eq!(yaml("docs/ci/github.yml")["permissions"], json!({"contents": "read"}));
    let release = yaml(".github/workflows/release.yml");
    assert_eq!(release["permissions"], json!({"contents": "read"}));
    assert_eq!(release["jobs"]["build"]["permissions"], Value::Null);
    assert_eq!(release["jobs"]["publish"]["permissions"], json!({"contents": "write"}));
    assert_eq!(release["on"], json!({"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}}));
}

#[test]
fn every_input_of_the_action_reaches_its_script() {
    let action = yaml("action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let (raw, page) = (text("action.yml"), text("docs/gate.md"));
    for input in keys(&action["inputs"]) {
        assert!(raw.contains(&format!("inputs.{input} ")), "{input} is not used");
        assert!(page.contains(&format!("`{input}`")), "docs/gate.md does not name {input}");
    }
    for step in action["runs"]["steps"].as_array().unwrap() {
        let Some(command) = step["run"].as_str() else { continue };
        assert_eq!(step["shell"], "bash", "{step}");
        let script = command.split(['/', '"']).rfind(|part| !part.is_empty()).unwrap();
        let script = text(&format!(".ci/action/{script}"));
        let given: BTreeSet<&str> = step.get("env").map(keys).unwrap_or_default();
        for name in &given {
            assert!(
                script.contains(&format!("${{{name}:-}}"))
                    || script.contains(&format!("\"${name}/")),
                "{name} is not read"
            );
        }
        for read in script.match_indices("AGENTEVAL_").map(|(at, _)| &script[at..]) {
            let end = read.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap();
            assert!(given.contains(&read[..end]), "{} is not given", &read[..end]);
        }
    }
    assert_eq!(keys(&action["outputs"]), ["exit-code", "report", "verdict"].into());
}

#[test]
fn the_release_makes_what_the_action_and_the_examples_fetch() {
    let release = yaml(".github/workflows/release.yml");
    let matrix = &release["jobs"]["build"]["strategy"]["matrix"]["include"];
    let made: BTreeSet<&str> =
        matrix.as_array().unwrap().iter().map(|row| row["target"].as_str().unwrap()).collect();
    let script = text(".ci/action/install");
    let fetched: BTreeSet<&str> = script
        .lines()
        .filter_map(|line| line.split_once(") target=")?.1.strip_suffix(" ;;"))
        .collect();
    assert_eq!(made, fetched);
    assert_eq!(made.len(), 5);

    let workflow = text(".github/workflows/release.yml");
    assert!(workflow.contains("name=agenteval-$TARGET\n") && workflow.contains("\"$name.tar.gz\""));
    assert!(script.contains("archive=agenteval-$target.tar.gz\n"));
    assert!(script.contains("\"agenteval-$target/agenteval$exe\""));
    let gitlab = text("docs/ci/gitlab-ci.yml");
    assert!(gitlab.contains("archive=\"agenteval-$(uname -m)-unknown-linux-musl\""));
    for part in [&workflow, &script, &gitlab] {
        assert!(part.contains("SHA256SUMS"));
    }
    let toolchain = release["jobs"]["build"]["env"]["RUSTUP_TOOLCHAIN"].as_str().unwrap();
    assert!(toolchain.starts_with(env!("CARGO_PKG_RUST_VERSION")), "{toolchain}");
}

#[test]
fn init_writes_the_workflows_that_the_documents_show() {
    for (service, written, shown) in WORKFLOWS {
        let folder = Folder::new();
        let ran = init(&folder, service);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(&format!("wrote {written}\n")), "{ran:?}");
        let text_written = std::fs::read_to_string(folder.at(written)).unwrap();
        assert_eq!(text_written, text(shown), "run docs/make");
        assert!(folder.path().join("eval-configs/my-agent.json").exists());
    }
}

#[test]
fn init_leaves_a_workflow_that_is_there_as_it_is() {
    for (service, written, _) in WORKFLOWS {
        let folder = Folder::new();
        folder.file(written, "mine\n");
        let ran = init(&folder, service);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(&format!("kept (it is there already) {written}\n")), "{ran:?}");
        assert!(!ran.out.contains("fill in"), "{ran:?}");
        assert_eq!(std::fs::read_to_string(folder.at(written)).unwrap(), "mine\n");
    }
}

#[test]
fn the_name_of_the_config_is_in_the_workflow() {
    let folder = Folder::new();
    let ran = Ran::of(agenteval().current_dir(folder.path()).args([
        "init",
        "7.sup_port",
        "--ci",
        "gitlab",
    ]));
    assert!(
        ran.out.contains("in .gitlab-ci.yml, add `include: [{local: .gitlab-ci.agenteval.yml}]`"),
        "{ran:?}"
    );
    let written = std::fs::read_to_string(folder.at(".gitlab-ci.agenteval.yml")).unwrap();
    assert!(written.contains(" -c eval-configs/7.sup_port.json "), "{written}");
    parsed(&written);
    agenteval().current_dir(folder.path()).args(["init", "--ci", "jenkins"]).assert().code(2);
}

#[test]
fn the_github_workflow_fails_until_it_is_filled_in_and_gates_pull_requests() {
    let workflow = yaml("docs/ci/github.yml");
    assert_eq!(keys(&workflow["on"]), ["pull_request", "workflow_dispatch"].into());
    let steps = workflow["jobs"]["gate"]["steps"].as_array().unwrap();
    let step = |name: &str| steps.iter().find(|step| step["name"] == name).expect(name);
    assert!(step("Run the agent")["run"].as_str().unwrap().ends_with("exit 1\n"));
    let gate = step("Gate");
    assert_eq!(gate["if"], "github.event_name == 'pull_request'");
    let known = yaml("action.yml");
    for step in [gate, step("Install agenteval")] {
        let inputs = keys(&known["inputs"]);
        assert!(keys(&step["with"]).is_subset(&inputs), "{step}");
        let place = format!("<OWNER>/agenteval@v{VERSION}");
        let known = step["uses"].as_str().unwrap();
        assert!(known == place || !env!("CARGO_PKG_REPOSITORY").is_empty(), "{known}");
    }
    let hidden = &step("Hand out the baseline")["with"];
    assert_eq!(hidden["include-hidden-files"], true, "else .agenteval is left out of the artifact");
}

#[test]
fn the_gitlab_workflow_reports_junit_and_lets_only_inconclusive_go_on() {
    let workflow = yaml("docs/ci/gitlab-ci.yml");
    let gate = &workflow["agenteval-gate"];
    assert_eq!(gate["artifacts"]["reports"]["junit"], "agenteval-verdict/gate.xml");
    assert_eq!(gate["artifacts"]["when"], "always");
    assert_eq!(gate["allow_failure"], json!({"exit_codes": [3]}));
    let command = gate["script"][1].as_str().unwrap();
    assert!(command.contains("-o agenteval-verdict/gate.xml"), "{command}");
    assert!(command.contains("--inconclusive fail"), "{command}");
    let before = workflow[".agenteval"]["before_script"].as_array().unwrap();
    assert!(before.last().unwrap().as_str().unwrap().ends_with("exit 1\n"));
    assert_eq!(workflow[".agenteval"]["variables"]["AGENTEVAL_VERSION"], VERSION);
    assert_eq!(workflow["agenteval-baseline"]["rules"][0]["when"], "manual");
}

/// A runner: its folders, and the programs that are played.
struct Runner {
    folder: Folder,
    /// Where the action lies, from the folder.
    action: String,
}

/// Prints what a server would answer: the file of that name below `served`, else 404.
const CURL: &str = r#"
if [[ " $* " == *" --remote-name-all "* ]]; then
    for url in "$@"; do
        case $url in http*) cp "$PLAYED/served/${url##*/}" . || exit 22 ;; esac
    done
    exit 0
fi
while [ $# -gt 1 ]; do
    case $1 in --output) out=$2; shift ;; esac
    shift
done
echo "$1" >>"$PLAYED/asked"
name=${1##*/}
if [ -f "$PLAYED/broken" ]; then exit 7; fi
if [ -f "$PLAYED/served/$name" ]; then cp "$PLAYED/served/$name" "$out"; printf 200
else echo 'Not Found' >"$out"; printf "$(cat "$PLAYED/absent" 2>/dev/null || echo 404)"; fi
"#;

/// Writes down how it was called, where from, and makes what it was asked for.
const CARGO: &str = r#"
printf '%s\n' "$PWD" "$@" >"$PLAYED/cargo"
while [ $# -gt 1 ]; do
    case $1 in --root) root=$2 ;; esac
    shift
done
mkdir -p "$root/bin" && : >"$root/bin/agenteval"
"#;

/// Writes down its arguments; writes and ends as the test says.
const GATE: &str = r#"
printf '%s\n' "$@" >"$PLAYED/gate"
for word in "$@"; do
    [ "$before" = -o ] && last=$word
    before=$word
done
[ -f "$PLAYED/verdict" ] && cat "$PLAYED/verdict" >"$last"
exit "$(cat "$PLAYED/code")"
"#;

impl Runner {
    /// One that uses the action as `OWNER/NAME@REF`.
    fn at(reference: &str) -> Self {
        let folder = Folder::new();
        let action = format!("_actions/acme/agenteval/{reference}");
        folder.file(
            &format!("{action}/Cargo.toml"),
            "[package]\nname = \"agenteval\"\nversion = \"1.2.3\"\n",
        );
        for file in ["Cargo.lock", "src/main.rs", "fixtures/a", "eval-configs/b"] {
            folder.file(&format!("{action}/{file}"), file);
        }
        for name in ["temp", "work", "played/served"] {
            std::fs::create_dir_all(folder.at(name)).unwrap();
        }
        let runner = Self { folder, action };
        runner.program("played/bin/curl", CURL);
        runner.program("played/bin/cargo", CARGO);
        runner
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.folder.file(name, format!("#!/bin/bash\n{script}"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Serves a release that tells this version, with the line `sum` of its checksums, or the right one.
    fn release(&self, tells: &str, sum: Option<&str>) {
        let inner = format!("release/agenteval-{TARGET}");
        self.program(&format!("{inner}/agenteval"), &format!("echo agenteval {tells}\n"));
        let archive = format!("agenteval-{TARGET}.tar.gz");
        let packed = Command::new("tar")
            .args(["-czf", &self.folder.at(&format!("played/served/{archive}"))])
            .args(["-C", &self.folder.at("release"), &format!("agenteval-{TARGET}")])
            .status();
        assert!(packed.unwrap().success());
        let bytes = std::fs::read(self.folder.at(&format!("played/served/{archive}"))).unwrap();
        let digest: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let right = format!("{}  agenteval-other.tar.gz\n{digest}  {archive}\n", "0".repeat(64));
        self.folder.file("played/served/SHA256SUMS", sum.unwrap_or(&right));
    }

    fn run(&self, script: &str, variables: &[(&str, &str)]) -> Ran {
        let path = format!("{}:/usr/bin:/bin", self.folder.at("played/bin"));
        let mut command = Command::new("/bin/bash");
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/action").join(script))
            .current_dir(self.folder.at("work"))
            .env_clear()
            .env("PATH", path)
            .env("PLAYED", self.folder.at("played"))
            .env("RUNNER_TEMP", self.folder.at("temp"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("GITHUB_ACTION_PATH", self.folder.at(&self.action))
            .env("GITHUB_OUTPUT", self.folder.at("output"))
            .env("GITHUB_PATH", self.folder.at("path"))
            .env("AGENTEVAL_BIN", self.folder.at("temp/agenteval/bin"))
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The text of a file that was written; empty where none was.
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.at(name)).unwrap_or_default()
    }

    /// Fails unless the step ended with an error that says `why`, and nothing was installed.
    #[track_caller]
    fn refused(&self, ran: &Ran, why: &str) {
        assert_eq!(ran.code, 2, "{ran:?}");
        let told = ran.out.lines().any(|line| line.starts_with("::error") && line.contains(why));
        assert!(told, "no {why:?} in {ran:?}");
        assert_eq!((self.read("output"), self.read("path")), (String::new(), String::new()));
        assert!(!self.folder.path().join("temp/agenteval/bin/agenteval").exists());
    }

    /// Fails unless the step asked for a build.
    #[track_caller]
    fn to_build(&self, ran: &Ran, why: &str) {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(why), "no {why:?} in {ran:?}");
        assert!(self.read("output").starts_with("source=true\n"), "{}", self.read("output"));
    }
}

#[test]
fn a_release_with_the_right_checksum_is_installed() {
    for reference in ["v1.2.3", "v1", &"0123456789".repeat(4)] {
        let runner = Runner::at(reference);
        runner.release("1.2.3", None);
        let ran = runner.run("install", &[("AGENTEVAL_REPOSITORY", "some/caller")]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let bin = runner.folder.at("temp/agenteval/bin");
        assert_eq!(runner.read("output"), format!("source=false\nbin={bin}\n"));
        assert_eq!(runner.read("path"), format!("{bin}\n"));
        assert!(Path::new(&bin).join("agenteval").exists());
        let asked = runner.read("played/asked");
        let release = "https://github.com/acme/agenteval/releases/download/v1.2.3/";
        assert!(asked.lines().all(|url| url.starts_with(release)), "{asked}");
    }
}

#[test]
fn a_wrong_checksum_ends_the_job_and_installs_nothing() {
    let runner = Runner::at("v1.2.3");
    let archive = format!("agenteval-{TARGET}.tar.gz");
    runner.release("1.2.3", Some(&format!("{}  {archive}\n", "ab".repeat(32))));
    let ran = runner.run("install", &[]);
    runner.refused(&ran, "as its release says; it is not used");
    for sum in [
        format!("{archive}  {archive}\n"),
        format!("{0}  {archive}\n{0}  {archive}\n", "ab".repeat(32)),
    ] {
        runner.release("1.2.3", Some(&sum));
        runner.refused(&runner.run("install", &[]), "has no one SHA-256");
    }
}

#[test]
fn an_archive_that_is_listed_and_missing_ends_the_job() {
    let runner = Runner::at("v1.2.3");
    runner.release("1.2.3", None);
    std::fs::remove_file(runner.folder.at(&format!("played/served/agenteval-{TARGET}.tar.gz")))
        .unwrap();
    runner.refused(&runner.run("install", &[]), "the server answered 404");
}

#[test]
fn a_server_or_network_that_fails_is_not_taken_for_a_missing_release() {
    let runner = Runner::at("v1.2.3");
    runner.folder.file("played/absent", "503");
    runner.refused(&runner.run("install", &[]), "the server answered 503");
    runner.folder.file("played/broken", "");
    runner.refused(&runner.run("install", &[]), "cannot fetch");
}

#[test]
fn a_release_that_tells_another_version_is_refused() {
    let runner = Runner::at("v1.2.3");
    runner.release("9.9.9", None);
    let ran = runner.run("install", &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("release v1.2.3 holds agenteval 9.9.9"), "{ran:?}");
    assert_eq!(runner.read("path"), "");
}

#[test]
fn without_a_release_or_for_an_unknown_platform_it_is_built() {
    let runner = Runner::at("v1.2.3");
    runner.to_build(&runner.run("install", &[]), "there is no release v1.2.3 of acme/agenteval");
    let output = runner.read("output");
    assert!(output.contains("\nkey=agenteval-Linux-X64-any-"), "{output}");

    let runner = Runner::at("v1.2.3");
    runner.release("1.2.3", Some("00  agenteval-other.tar.gz\n"));
    runner
        .to_build(&runner.run("install", &[]), "has no agenteval-x86_64-unknown-linux-musl.tar.gz");

    let runner = Runner::at("v1.2.3");
    runner.to_build(
        &runner.run("install", &[("RUNNER_ARCH", "RISCV64")]),
        "no release is made for Linux on RISCV64",
    );
    assert_eq!(runner.read("played/asked"), "", "nothing is fetched");
}

#[test]
fn a_branch_is_built_since_it_is_ahead_of_its_release() {
    for (reference, variables) in
        [("main", [("X", "")]), ("v1.2.3", [("AGENTEVAL_VERSION", "source")])]
    {
        let runner = Runner::at(reference);
        runner.release("1.2.3", None);
        runner.to_build(&runner.run("install", &variables), "is built from source");
        assert_eq!(runner.read("played/asked"), "");
    }
}

#[test]
fn the_key_of_the_cache_follows_the_sources() {
    let key = |change: &str| {
        let runner = Runner::at("main");
        runner.folder.file(&format!("{}/src/main.rs", runner.action), change);
        runner.run("install", &[]);
        runner.read("output")[..].rsplit_once('-').unwrap().1.trim().to_owned()
    };
    assert_eq!(key("a").len(), 64);
    assert_eq!(key("a"), key("a"));
    assert_ne!(key("a"), key("b"));
}

#[test]
fn a_version_that_was_asked_for_is_never_replaced_by_another() {
    let runner = Runner::at("v1.2.3");
    let ran = runner.run("install", &[("AGENTEVAL_VERSION", "v1.0.0")]);
    runner.refused(&ran, "version 1.0.0 was asked for");
    for version in ["latest", "1.2.3/../../x", "1.2.3\nsource=false", "$(id)"] {
        let ran = runner.run("install", &[("AGENTEVAL_VERSION", version)]);
        assert_eq!(ran.code, 2, "{version}: {ran:?}");
        assert_eq!(runner.read("output"), "", "{version}");
    }
    runner.release("1.0.0", None);
    let ran = runner.run("install", &[("AGENTEVAL_VERSION", "1.0.0")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(runner.read("played/asked").contains("/download/v1.0.0/"));
}

#[test]
fn the_build_is_locked_and_runs_in_the_actions_folder() {
    let runner = Runner::at("v1.2.3");
    let ran = runner.run("build", &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let called = runner.read("played/cargo");
    let (folder, arguments) = called.split_once('\n').unwrap();
    assert_eq!(
        Path::new(folder).canonicalize().unwrap(),
        runner.folder.path().join(&runner.action).canonicalize().unwrap()
    );
    assert!(arguments.starts_with("install\n--locked\n--no-default-features\n"), "{arguments}");
    assert!(runner.folder.path().join("temp/agenteval/bin/agenteval").exists());

    let bare = Runner::at("v1.2.3");
    let ran = bare.run("build", &[("PATH", "/nowhere")]);
    bare.refused(&ran, "install Rust before this step");
}

#[test]
fn the_gitlab_workflow_installs_only_what_the_checksums_know() {
    let workflow = yaml("docs/ci/gitlab-ci.yml");
    let before = workflow[".agenteval"]["before_script"].as_array().unwrap();
    let script = format!("{}command -v agenteval\n", before[1].as_str().unwrap());
    let archive = format!("agenteval-{TARGET}.tar.gz");
    let wrong = format!("{}  {archive}\n", "ab".repeat(32));
    for (sum, installed) in [(None, true), (Some(wrong.as_str()), false), (Some(""), false)] {
        let runner = Runner::at("v1.2.3");
        runner.release("1.2.3", sum);
        runner.program("played/bin/uname", "echo x86_64\n");
        let file = runner.folder.file("script", &script);
        let ran = runner.run(
            &file,
            &[
                ("HOME", &runner.folder.at("home")),
                ("AGENTEVAL_REPOSITORY", "https://example.org/a/agenteval"),
                ("AGENTEVAL_VERSION", "1.2.3"),
            ],
        );
        let at = runner.folder.at("home/.local/bin/agenteval");
        assert_eq!(ran.out.ends_with(&format!("{at}\n")), installed, "{ran:?}");
        assert_eq!(ran.code == 0, installed, "{ran:?}");
    }
}

/// A runner with the played gate, and what the gate writes and ends with.
fn gated(verdict: Option<&str>, code: i32) -> Runner {
    let runner = Runner::at("v1.2.3");
    runner.program("temp/agenteval/bin/agenteval", GATE);
    runner.folder.file("played/code", code.to_string());
    if let Some(verdict) = verdict {
        runner.folder.file("played/verdict", verdict);
    }
    runner
}

#[test]
fn the_gates_code_and_verdict_are_handed_on() {
    let compact = r#"{"schema":"agenteval.gate/1","verdict":"regression","metrics":{"a":{"verdict":"pass"}}}"#;
    let pretty = "{\n  \"schema\": \"agenteval.gate/1\",\n  \"verdict\": \"inconclusive\",\n  \"metrics\": {\"a\": {\"verdict\": \"pass\"}}\n}\n";
    for (written, verdict, code) in [(compact, "regression", 1), (pretty, "inconclusive", 3)] {
        let runner = gated(Some(written), code);
        let ran = runner.run("gate", &[("AGENTEVAL_PATHS", "runs")]);
        assert_eq!(ran.code, code, "{ran:?}");
        let output = runner.read("output");
        assert!(
            output.starts_with(&format!("verdict={verdict}\nexit-code={code}\nreport=")),
            "{output}"
        );
        assert!(output.ends_with("/gate.json\n"), "{output}");
    }
    for code in [2, 4, 70] {
        let runner = gated(None, code);
        assert_eq!(runner.run("gate", &[("AGENTEVAL_PATHS", "runs")]).code, code);
        assert_eq!(runner.read("output"), format!("verdict=\nexit-code={code}\nreport=\n"));
    }
}

#[test]
fn inputs_are_arguments_and_never_commands() {
    let runner = gated(None, 0);
    let hostile = "$(touch hurt) `touch hurt`; touch hurt";
    let ran = runner.run(
        "gate",
        &[
            ("AGENTEVAL_PATHS", &format!("  runs/a b \r\n\n--strict\n{hostile}\n*.json")),
            ("AGENTEVAL_CONFIG", hostile),
            ("AGENTEVAL_BASELINE", "--exact"),
            ("AGENTEVAL_BASELINE_MISSING", "warn"),
            ("AGENTEVAL_ALLOW_UNMATCHED", "true"),
            ("AGENTEVAL_EXACT", "false"),
            ("AGENTEVAL_JUNIT", "out/deep/gate.xml"),
            ("AGENTEVAL_ARGS", "--where\nrun.model == 'a b'"),
        ],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let called = runner.read("played/gate");
    let (report, rest): (Vec<&str>, Vec<&str>) =
        called.lines().partition(|word| word.ends_with("/gate.json"));
    assert_eq!(report.len(), 1);
    let config = format!("--config={hostile}");
    let wanted = [
        "gate",
        &config,
        "--baseline=--exact",
        "--baseline-missing=warn",
        "--allow-unmatched",
        "-o",
        "out/deep/gate.xml",
        "-o",
        "--where",
        "run.model == 'a b'",
        "--",
        "runs/a b",
        "--strict",
        hostile,
        "*.json",
    ];
    assert_eq!(rest, wanted);
    let work: Vec<_> = std::fs::read_dir(runner.folder.at("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(work, ["out"], "nothing else was made");
}

#[test]
fn inputs_that_would_gate_nothing_or_write_another_form_are_refused() {
    for (variables, why) in [
        (vec![("AGENTEVAL_PATHS", " \n\n")], "input paths is empty"),
        (
            vec![("AGENTEVAL_PATHS", "a"), ("AGENTEVAL_ALLOW_UNMATCHED", "yes")],
            "neither true nor false",
        ),
        (vec![("AGENTEVAL_PATHS", "a"), ("AGENTEVAL_JUNIT", "junit.json")], "must end in .xml"),
    ] {
        let runner = gated(None, 0);
        let ran = runner.run("gate", &variables);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.out.contains(why), "{ran:?}");
        assert_eq!(runner.read("played/gate"), "", "the gate did not run");
    }
}

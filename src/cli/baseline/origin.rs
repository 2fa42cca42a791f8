//! The commit, time and person of a save, as far as they are given: no clock and no user of the
//! host. Git is read, not run: `.git/HEAD`, the ref that it names, `packed-refs`.

use std::env::var;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::super::Failure;
use super::super::args::OriginFlags;
use crate::baseline::Origin;
use crate::render::mask;

/// Bytes that a file of git may have to be read.
const MAX_GIT: u64 = 64 << 20;

/// What flags, the environment and git say; `by` is the flag of commands that ask who.
pub(crate) fn origin(flags: &OriginFlags, by: Option<Option<&str>>) -> Result<Origin, Failure> {
    let commit = match &flags.commit {
        Some(commit) if is_commit(commit) => Some(commit.clone()),
        Some(commit) => {
            return Err(Failure::usage(format!(
                "--commit {commit}: expected the hash or name of a commit, without spaces"
            )));
        }
        None => ["GITHUB_SHA", "CI_COMMIT_SHA"]
            .iter()
            .find_map(|name| var(name).ok().filter(|commit| is_commit(commit)))
            .or_else(|| head(&std::env::current_dir().ok()?)),
    };
    let time = match &flags.time {
        Some(time) => Some(normal(time).ok_or_else(|| {
            Failure::usage(format!(
                "--time {time}: expected a time such as 2026-01-31T12:00:00Z (RFC 3339)"
            ))
        })?),
        None => match var("SOURCE_DATE_EPOCH") {
            Ok(epoch) if !epoch.is_empty() => Some(since_epoch(&epoch).ok_or_else(|| {
                Failure::usage(format!(
                    "SOURCE_DATE_EPOCH is {epoch}: expected seconds since 1970, or unset it"
                ))
            })?),
            _ => None,
        },
    };
    let by = match by {
        Some(Some(by)) => Some(by.to_owned()),
        Some(None) => ["GITHUB_ACTOR", "GITLAB_USER_LOGIN"].iter().find_map(|name| var(name).ok()),
        None => None,
    };
    let by = by.map(|by| mask(&by.split_whitespace().collect::<Vec<_>>().join(" ")));
    let commit = commit.map(|commit| mask(&commit));
    Ok(Origin { commit, time, by: by.filter(|by| !by.is_empty() && by.len() <= 200) })
}

fn is_commit(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+');
    (1..=100).contains(&text.len()) && text.chars().all(plain)
}

/// A time in UTC and whole seconds, so that equal times are equal texts and sort as times.
fn normal(time: &str) -> Option<String> {
    since_epoch(&time.parse::<jiff::Timestamp>().ok()?.as_second().to_string())
}

fn since_epoch(seconds: &str) -> Option<String> {
    let seconds = seconds.trim().parse::<i64>().ok().filter(|seconds| *seconds >= 0)?;
    let stamp = jiff::Timestamp::from_second(seconds).ok()?;
    Some(stamp.to_string())
}

/// The commit that is checked out where this folder is in a git clone.
fn head(start: &Path) -> Option<String> {
    let found = start.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    // In a worktree `.git` is a file that names the folder.
    let git = if found.is_dir() {
        found
    } else {
        let text = read(&found)?;
        let folder = Path::new(text.strip_prefix("gitdir:")?.trim());
        found.parent()?.join(folder)
    };
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else { return hash(&head) };
    let safe = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if !safe {
        return None;
    }
    let shared = read(&git.join("commondir")).map(|folder| git.join(folder.trim()));
    let folders: Vec<PathBuf> = [Some(git), shared].into_iter().flatten().collect();
    folders.iter().find_map(|folder| hash(&read(&folder.join(name))?)).or_else(|| {
        folders.iter().find_map(|folder| {
            let packed = read(&folder.join("packed-refs"))?;
            packed.lines().find_map(|line| {
                let (commit, packed) = line.split_once(' ')?;
                (packed.trim() == name).then(|| hash(commit)).flatten()
            })
        })
    })
}

fn read(path: &Path) -> Option<String> {
    // A pipe in its place would hold the reader up.
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_GIT).read_to_string(&mut text).ok()?;
    Some(text)
}

fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{head, is_commit, normal, since_epoch};
    use std::fs;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_commit_is_read_from_a_ref_from_packed_refs_and_from_a_worktree() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            fs::create_dir_all(at(name).parent().expect("a parent")).expect("folders");
            fs::write(at(name), text).expect("a file");
        };
        write(".git/HEAD", "ref: refs/heads/main\n");
        write("src/x", "");
        assert_eq!(head(&at("src")), None, "a clone without commits");
        write(".git/packed-refs", &format!("# pack-refs\n{COMMIT} refs/heads/main\n^{COMMIT}\n"));
        assert_eq!(head(&at("src")).as_deref(), Some(COMMIT));
        let other = COMMIT.replace('0', "f");
        write(".git/refs/heads/main", &format!("{other}\n"));
        assert_eq!(head(&at("src")), Some(other), "a loose ref is newer");
        write(".git/worktrees/w/HEAD", "ref: refs/heads/side");
        write(".git/worktrees/w/commondir", "../..\n");
        write(".git/refs/heads/side", COMMIT);
        write("w/.git", "gitdir: ../.git/worktrees/w\n");
        assert_eq!(head(&at("w")).as_deref(), Some(COMMIT));
        write(".git/HEAD", COMMIT);
        assert_eq!(head(&at("src")).as_deref(), Some(COMMIT), "detached");
        for bad in ["ref: refs/../../secret", "ref: /etc/passwd", "", "xyz"] {
            write(".git/HEAD", bad);
            assert_eq!(head(&at("src")), None, "{bad}");
        }
    }

    #[test]
    fn times_are_kept_in_one_form() {
        assert_eq!(normal("2026-01-31T12:00:00.5+02:00").as_deref(), Some("2026-01-31T10:00:00Z"));
        assert_eq!(since_epoch("0").as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(normal("yesterday"), None);
        assert_eq!(since_epoch("99999999999999999999"), None);
        assert!(is_commit("3f2c91") && !is_commit("a b") && !is_commit(""));
    }
}

//! What a baseline may be called. Names become file names on every system, so they are no paths.

use std::sync::OnceLock;

use regex::Regex;

use super::BaselineError;

/// Bytes that a name may have: file names end at 255, and `.json` and temporary ones need room.
const MAX_NAME: usize = 200;

/// Names that Windows keeps for devices, with any ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Checks a name: letters and digits of any language, `.`, `-` and `_`.
///
/// # Errors
///
/// [`BaselineError::Name`] with what is wrong and what to write instead.
pub fn check_name(name: &str) -> Result<(), BaselineError> {
    let refuse = |reason: String| {
        let shown: String = name.chars().take(80).collect();
        Err(BaselineError::Name { name: shown, reason })
    };
    if name.is_empty() {
        return refuse("it is empty; write a name such as `main`".to_owned());
    }
    if name.contains(['/', '\\']) {
        let flat = name.trim_matches(['/', '\\', '.']).replace(['/', '\\'], "-");
        let flat = flat.trim_start_matches(['.', '-']);
        let instead = if flat.is_empty() || check_name(flat).is_err() { "main" } else { flat };
        return refuse(format!(
            "a name is no path; write `{instead}`, or name another folder with --store"
        ));
    }
    static FORM: OnceLock<Option<Regex>> = OnceLock::new();
    let form = FORM.get_or_init(|| Regex::new(r"\A[\p{L}\p{M}\p{N}._-]+\z").ok());
    if !form.as_ref().is_some_and(|form| form.is_match(name)) {
        return refuse("a name has letters, digits, `.`, `-` and `_`".to_owned());
    }
    if crate::model::mask(name) != name {
        // Not said again.
        let reason = "it looks like a secret; write a name such as `main`".to_owned();
        return Err(BaselineError::Name { name: crate::model::mask(name), reason });
    }
    if name.starts_with(['.', '-']) || name.ends_with('.') {
        return refuse(
            "a name starts with neither `.` nor `-` and does not end with `.`".to_owned(),
        );
    }
    if name.len() > MAX_NAME {
        return refuse(format!("it has more than {MAX_NAME} bytes; write a shorter one"));
    }
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = ["com", "lpt"].iter().any(|device| {
        let number = stem.strip_prefix(device).map(|rest| rest.chars().collect::<Vec<_>>());
        number.is_some_and(|rest| matches!(rest.as_slice(), ['0'..='9' | '¹' | '²' | '³']))
    });
    if numbered || DEVICES.contains(&stem.as_str()) {
        return refuse("Windows keeps this name for a device; write another".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_of_any_language_are_names_and_paths_are_not() {
        for name in ["main", "v1.2_rc-3", "基线", "ветка", "émile", "e\u{301}t", "हिन्दी", "comet"]
        {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "/etc/passwd",
            ".hidden",
            "-x",
            "x.",
            "a b",
            "a\0b",
            "a\n",
            "NUL",
            "nul.txt",
            "com1",
            "LPT9.x",
            "a:b",
            "a*",
            "\u{202e}x",
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name(&"x".repeat(201)).is_err());
    }

    #[test]
    fn a_branch_name_is_answered_with_the_name_to_write() {
        let said = |name| check_name(name).expect_err(name).to_string();
        assert!(said("feature/x").contains("write `feature-x`"), "{}", said("feature/x"));
        assert!(said("../x").contains("write `x`"), "{}", said("../x"));
        assert!(said("//").contains("write `main`"), "{}", said("//"));
    }
}

//! Secrets in texts of traces, masked before anything is printed or stored.

use std::sync::OnceLock;

use regex::Regex;

/// What one kind of secret looks like.
struct Pattern {
    /// Lower-case parts of which a text has one if the pattern can match: expressions are compiled
    /// only for texts that need them, since compiling all would cost more than a small analysis.
    hints: &'static [&'static str],
    /// The kept head in a group `keep`, then the secret.
    source: &'static str,
    regex: OnceLock<Option<Regex>>,
}

const fn pattern(hints: &'static [&'static str], source: &'static str) -> Pattern {
    Pattern { hints, source, regex: OnceLock::new() }
}

// What stands before a secret may also be an escape of JSON: text is masked as it was written.
static PATTERNS: [Pattern; 16] = [
    // Private keys, whole, and cut off ones to the end of the text.
    pattern(
        &["private key"],
        r"(?s)(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ),
    // Authorization headers, and bearer or basic credentials anywhere.
    pattern(
        &["bearer", "basic"],
        r"(?i)(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
    ),
    // Keys and tokens with a known head.
    pattern(
        &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:sk|pk|rk)[-_](?:(?:proj|ant|live|test|or|svcacct)[-_])?)[A-Za-z0-9_-]{12,}",
    ),
    pattern(
        &["gh", "glpat", "npm", "hf", "xox", "dop_v1", "shpat"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:ghp|gho|ghu|ghs|ghr|glpat|npm|hf|xox[abposr]|dop_v1|shpat)[-_])[A-Za-z0-9_-]{10,}",
    ),
    pattern(
        &["github_pat_"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})github_pat_)[A-Za-z0-9_]{20,}",
    ),
    pattern(
        &["akia", "asia"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:AKIA|ASIA))[A-Z0-9]{12,}",
    ),
    pattern(&["aiza"], r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})AIza)[A-Za-z0-9_-]{30,}"),
    // JSON web tokens.
    pattern(
        &["eyj"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    ),
    // Passwords inside addresses.
    pattern(
        &["://"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})[a-z][a-z0-9+.-]*://[^\s/:@]{1,64}:)[^\s/@]{1,256}@",
    ),
    // Cookies, storage keys, bot tokens.
    pattern(
        &["cookie"],
        r"(?i)(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:set-)?cookie:\s*)[^\r\n]{4,}",
    ),
    pattern(
        &["accountkey=", "accesskey="],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:Account|SharedAccess)Key=)[A-Za-z0-9+/=]{16,}",
    ),
    pattern(
        &["0:", "1:", "2:", "3:", "4:", "5:", "6:", "7:", "8:", "9:"],
        r"(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})\d{8,10}:)[A-Za-z0-9_-]{30,}",
    ),
    // Assignments to names that say what they are. A name that ends in `token` is one; `tokens` are
    // what models count.
    pattern(
        &[
            "key",
            "secret",
            "token=",
            "token:",
            "token\"",
            "token'",
            "token ",
            "token\\",
            "passw",
            "credential",
        ],
        r#"(?i)(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:[a-z0-9_.-]*(?:api[-_]?key|secret|passw(?:or)?d|credential|private[-_]?key)[a-z0-9_.-]*|(?:[a-z0-9_.-]*[_.-]|access|refresh|auth|id|session|bearer|csrf)?token)\\*["']?\s*[:=]\s*(?:\[\s*\\*["']|\\*["']?))[^\s"',;&}\]\\]{6,}"#,
    ),
    // Fields of headers, also in JSON inside of JSON.
    pattern(
        &["authorization", "cookie"],
        r#"(?i)(?P<keep>["'](?:proxy-)?(?:authorization|(?:set-)?cookie)\\*["']\s*[:=]\s*\[?\s*\\*["'])[^"'\\]{6,}"#,
    ),
    // The same as variables and parameters; words are shorter.
    pattern(
        &["authorization", "cookie"],
        r#"(?i)(?P<keep>(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})(?:(?:proxy-)?authorization|(?:set-)?cookie)\s*[:=]\s*)[^\s"',;&}\]\\]{16,}"#,
    ),
    // Values that a warning shows of such a field.
    pattern(
        &["` is \""],
        r#"(?i)(?P<keep>`[^`]*(?:api[-_]?key|secret|passw(?:or)?d|credential|[-_.]token)` is )"[^"]*""#,
    ),
];

/// Masks keys, tokens, bearer headers, passwords and private keys.
///
/// Text that is masked already stays as it is. A pattern list cannot find every secret; what it misses is why contents stay out of reports
/// unless they are asked for.
#[must_use]
pub fn mask(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = text.to_owned();
    for pattern in &PATTERNS {
        if !pattern.hints.iter().any(|hint| lower.contains(hint)) {
            continue;
        }
        let regex = pattern.regex.get_or_init(|| Regex::new(pattern.source).ok());
        if let Some(regex) = regex.as_ref().filter(|regex| regex.is_match(&out)) {
            out = regex
                .replace_all(&out, |found: &regex::Captures<'_>| {
                    let kept = found["keep"].len();
                    if matches!(found[0].get(kept..), Some("[masked" | "[masked]" | "[masked]@")) {
                        return found[0].to_owned();
                    }
                    let end = if found[0].ends_with('@') { "@" } else { "" };
                    format!("{}[masked]{end}", &found["keep"])
                })
                .into_owned();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{PATTERNS, mask};

    #[test]
    fn every_pattern_compiles_and_masks_its_secret() {
        assert!(PATTERNS.iter().all(|pattern| regex::Regex::new(pattern.source).is_ok()));
        // Put together here, so that no scanner takes this file for a leak.
        let body = "Ab1".repeat(14);
        let upper = body.to_uppercase();
        for secret in [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN PRIVATE KEY-----\n{body}"),
            format!("Authorization: Bearer {body}"),
            format!("sk-proj-{body}"),
            format!("sk-{body}"),
            format!("ghp_{body}"),
            format!("github_pat_{body}"),
            format!("AKIA{upper}"),
            format!("AIza{body}"),
            format!("eyJ{body}.{body}.{body}"),
            format!("https://user:{body}@host/x"),
            format!("\"client_secret\": \"{body}\""),
            format!("OPENAI_API_KEY={body}"),
            format!("access_token={body}"),
            format!("Cookie: session={body}"),
            format!("AccountKey={body}"),
            format!("12345678:{body}"),
            format!("`final.api_key` is \"{body}\""),
        ] {
            let masked = mask(&secret);
            assert!(masked.contains("[masked]"), "{masked}");
            assert!(!masked.contains(&body) && !masked.contains(&upper), "{masked}");
            assert_eq!(mask(&masked), masked, "masking again changes nothing");
        }
    }

    #[test]
    fn secrets_behind_escapes_and_in_json_inside_of_json_are_masked() {
        let body = "Ab1".repeat(14);
        for text in [
            format!(r"a\nghp_{body}"),
            format!(r"a\tsk-proj-{body}"),
            format!(r"\uff1ask-{body}"),
            format!(r"x\nBearer {body}"),
            format!(r#"{{"arguments": "{{\"api_key\": \"{body}\"}}"}}"#),
            format!(r#"{{"a": "{{\\\"password\\\": \\\"{body}\\\"}}"}}"#),
            format!(r#"{{"password": ["{body}"]}}"#),
            format!(r#"{{"refreshToken": "{body}"}}"#),
            format!(r#"{{"authorization": "{body}"}}"#),
            format!(r#"{{"Set-Cookie": "{body}"}}"#),
            format!("https://h/x?cookie={body}"),
            format!("export AUTHORIZATION={body}"),
        ] {
            let masked = mask(&text);
            assert!(!masked.contains(&body), "{masked}");
            assert_eq!(mask(&masked), masked, "masking again changes nothing");
        }
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in [
            "no answer after 30000 ms",
            "max_tokens: 4096",
            "tokens: uncached input 58,608",
            "task-001 token parser",
            "基本信息",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}

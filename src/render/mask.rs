//! Secrets in texts of traces, masked before anything is printed.

use std::sync::LazyLock;

use regex::Regex;

/// What secrets look like: the kept head, then the secret. Each pattern has a group `keep`.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // Private keys, whole, and cut off ones to the end of the text.
        r"(?s)(?P<keep>-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        // Authorization headers, and bearer or basic credentials anywhere.
        r"(?i)(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        // Keys and tokens with a known head.
        r"(?P<keep>\b(?:sk|pk|rk)[-_](?:(?:proj|ant|live|test|or|svcacct)[-_])?)[A-Za-z0-9_-]{12,}",
        r"(?P<keep>\b(?:ghp|gho|ghu|ghs|ghr|glpat|npm|hf|xox[abposr]|dop_v1|shpat)[-_])[A-Za-z0-9_-]{10,}",
        r"(?P<keep>\bgithub_pat_)[A-Za-z0-9_]{20,}",
        r"(?P<keep>\b(?:AKIA|ASIA))[A-Z0-9]{12,}",
        r"(?P<keep>\bAIza)[A-Za-z0-9_-]{30,}",
        // JSON web tokens.
        r"(?P<keep>\beyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        // Passwords inside addresses.
        r"(?P<keep>\b[a-z][a-z0-9+.-]*://[^\s/:@]{1,64}:)[^\s/@]{1,256}@",
        // Cookies, storage keys, bot tokens.
        r"(?i)(?P<keep>\b(?:set-)?cookie:\s*)[^\r\n]{4,}",
        r"(?P<keep>\b(?:Account|SharedAccess)Key=)[A-Za-z0-9+/=]{16,}",
        r"(?P<keep>\b\d{8,10}:)[A-Za-z0-9_-]{30,}",
        // Assignments to names that say what they are.
        // A name that ends in `token` is one; `tokens` are what models count.
        r#"(?i)(?P<keep>\b(?:[a-z0-9_.-]*(?:api[-_]?key|secret|passw(?:or)?d|credential|private[-_]?key)[a-z0-9_.-]*|(?:[a-z0-9_.-]*[_.-])?token)["']?\s*[:=]\s*["']?)[^\s"',;&}\]]{6,}"#,
        // Values that a warning shows of such a field.
        r#"(?i)(?P<keep>`[^`]*(?:api[-_]?key|secret|passw(?:or)?d|credential|[-_.]token)` is )"[^"]*""#,
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// Masks keys, tokens, bearer headers, passwords and private keys.
///
/// A pattern list cannot find every secret; what it misses is why contents stay out of reports
/// unless they are asked for.
#[must_use]
pub fn mask(text: &str) -> String {
    let mut out = text.to_owned();
    for pattern in PATTERNS.iter() {
        if pattern.is_match(&out) {
            out = pattern
                .replace_all(&out, |found: &regex::Captures<'_>| {
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
        assert_eq!(PATTERNS.len(), 14);
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

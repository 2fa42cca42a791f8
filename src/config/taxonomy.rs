//! A team's own names for errors: rules over raw types and messages.

use regex::{Regex, RegexBuilder};

use super::wire::Blame;

/// The rules of `error_types`, in the order written.
#[derive(Debug, Clone, Default)]
pub struct Taxonomy {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Regex,
    kind: Option<String>,
    blame: Option<Blame>,
}

/// What a rule says of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classified<'t> {
    /// The type in the team's taxonomy; `None` where the rule keeps the raw type.
    pub kind: Option<&'t str>,
    /// Whose fault it is, where the rule says so.
    pub blame: Option<Blame>,
}

impl Taxonomy {
    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules in their order: pattern, type and blame.
    pub fn rules(&self) -> impl Iterator<Item = (&str, Option<&str>, Option<Blame>)> {
        self.rules.iter().map(|rule| (rule.pattern.as_str(), rule.kind.as_deref(), rule.blame))
    }

    /// What the first rule says that matches the raw type or the message (`METRICS.md`, "Errors").
    ///
    /// Patterns search anywhere in each of the two, and case matters unless they say `(?i)`; both
    /// are tried against a rule before the next rule is. Linear in the length of the texts.
    #[must_use]
    pub fn classify(&self, kind: &str, message: Option<&str>) -> Option<Classified<'_>> {
        let matches = |rule: &&Rule| {
            rule.pattern.is_match(kind)
                || message.is_some_and(|message| rule.pattern.is_match(message))
        };
        self.rules
            .iter()
            .find(matches)
            .map(|rule| Classified { kind: rule.kind.as_deref(), blame: rule.blame })
    }

    /// Adds a rule; fails with a text that says what is wrong with the pattern.
    pub(super) fn push(
        &mut self,
        pattern: &str,
        kind: Option<String>,
        blame: Option<Blame>,
    ) -> Result<(), String> {
        let pattern = RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|error| {
            // The last line of the message is the reason; the lines before draw the pattern.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.trim_start_matches("error: ").to_owned()
        })?;
        self.rules.push(Rule { pattern, kind, blame });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Blame, Classified, Taxonomy};

    #[test]
    fn the_first_rule_that_matches_type_or_message_holds() {
        let mut taxonomy = Taxonomy::default();
        for (pattern, kind, blame) in [
            ("HTTP 429|rate.?limit", Some("rate_limit"), Some(Blame::Infra)),
            ("(?i)timeout", Some("timeout"), None),
            ("^Value", None, Some(Blame::Agent)),
        ] {
            taxonomy.push(pattern, kind.map(str::to_owned), blame).expect("sound patterns");
        }
        let found = |kind, message| taxonomy.classify(kind, message);
        let limit = Some(Classified { kind: Some("rate_limit"), blame: Some(Blame::Infra) });
        assert_eq!(found("TimeoutError", Some("HTTP 429: rate limit")), limit);
        assert_eq!(found("rate-limit", None), limit);
        assert_eq!(found("TIMEOUT", None), Some(Classified { kind: Some("timeout"), blame: None }));
        assert_eq!(
            found("ValueError", Some("x")),
            Some(Classified { kind: None, blame: Some(Blame::Agent) })
        );
        assert_eq!(found("unspecified", Some("Rate Limit")), None);
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong() {
        let reason = Taxonomy::default().push("a(b", None, None).expect_err("unclosed");
        assert_eq!(reason, "unclosed group");
    }
}

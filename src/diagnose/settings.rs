//! Which rules are asked, how grave they are, and the numbers that they go by.

use std::collections::BTreeMap;

use super::names::begins_with;
use super::{Grade, Rule, ToolSchemas};
use crate::config::{DiagnoseLevel, EvalConfig};

/// What names of tools begin with that have effects outside the run.
const VERBS: [&str; 8] =
    ["send", "charge", "refund", "pay", "book", "purchase", "publish", "delete"];

/// What the config says of one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RuleSetting {
    /// Whether it is left out.
    pub off: bool,
    /// How grave it is.
    pub grade: Option<Grade>,
    /// The number that it goes by.
    pub limit: Option<f64>,
}

/// How runs are diagnosed.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// What the config says of rules, by code.
    pub rules: BTreeMap<String, RuleSetting>,
    /// Patterns for the names of tools with effects outside the run.
    pub side_effects: globset::GlobSet,
    /// Whether the config names such tools; else the verbs that names begin with tell.
    pub names_side_effects: bool,
    /// What tools promise to give; empty until [`with_schemas`](Self::with_schemas).
    pub tool_schemas: ToolSchemas,
    /// Whether evidence may show values of inputs and outputs.
    pub shows_content: bool,
    /// The config's limit of steps.
    pub max_steps: Option<u64>,
    /// The config's limit of seconds.
    pub timeout_seconds: Option<f64>,
}

impl Settings {
    /// What the config says.
    #[must_use]
    pub fn of(config: &EvalConfig) -> Self {
        let setting = |rule: &crate::config::DiagnoseRule| RuleSetting {
            off: rule.level == Some(DiagnoseLevel::Off),
            grade: match rule.level {
                Some(DiagnoseLevel::Note) => Some(Grade::Note),
                Some(DiagnoseLevel::Warning) => Some(Grade::Warning),
                Some(DiagnoseLevel::Error) => Some(Grade::Error),
                Some(DiagnoseLevel::Off) | None => None,
            },
            limit: rule.limit,
        };
        let rules =
            config.diagnose.iter().map(|(code, rule)| (code.clone(), setting(rule))).collect();
        let mut side_effects = globset::GlobSetBuilder::new();
        for pattern in &config.side_effects {
            // The config has checked them.
            if let Ok(glob) = globset::Glob::new(pattern) {
                side_effects.add(glob);
            }
        }
        Self {
            rules,
            names_side_effects: !config.side_effects.is_empty(),
            tool_schemas: ToolSchemas::default(),
            shows_content: false,
            side_effects: side_effects.build().unwrap_or_default(),
            max_steps: config.limits.max_steps,
            timeout_seconds: config.limits.timeout_seconds,
        }
    }

    /// The same with the schemas of tools.
    #[must_use]
    pub fn with_schemas(self, tool_schemas: ToolSchemas) -> Self {
        Self { tool_schemas, ..self }
    }

    /// Whether a rule is asked.
    #[must_use]
    pub fn asks(&self, rule: &Rule) -> bool {
        !self.rules.get(rule.code).is_some_and(|setting| setting.off)
    }

    /// How grave a rule's findings are.
    #[must_use]
    pub fn grade(&self, rule: &Rule) -> Grade {
        self.rules.get(rule.code).and_then(|setting| setting.grade).unwrap_or(rule.grade)
    }

    /// The number that a rule goes by; 0 where it has none.
    #[must_use]
    pub fn limit(&self, rule: &Rule) -> f64 {
        let own = rule.limit.map_or(0.0, |(limit, _)| limit);
        self.rules.get(rule.code).and_then(|setting| setting.limit).unwrap_or(own)
    }

    /// Whether a tool has effects outside the run: by the config, else by the verb that its name
    /// begins with, where that leaves no doubt.
    #[must_use]
    pub fn has_side_effect(&self, tool: &str) -> bool {
        if self.names_side_effects {
            return self.side_effects.is_match(tool);
        }
        begins_with(tool, &VERBS)
    }
}

//! From the config as written to the config as used: the one place where values are checked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::error::ConfigError;
use super::source::{Node, inside_text};
use super::taxonomy::Taxonomy;
use super::used::{EvalConfig, GateConfig, Limits, Margin, MidRun, StepSelection, Threshold};
use super::wire::DiagnoseRule;
use super::{keys, parse, wire};
use crate::expr::{Program, Root};
use crate::model::{Better, METRIC_NAMES, MetricName, RULE_CODES, Unit, nearest, resolve_metric};

/// Reads, checks and compiles a config.
pub(super) fn read(bytes: &[u8], name: &str) -> Result<EvalConfig, ConfigError> {
    let text = parse::utf8(bytes, name, "eval config")?;
    let example = "{\"task_name\": \"...\", \"evaluation\": {...}}";
    let node = parse::sound(text, name, "eval config", example)?;
    keys::check(&node, text, name)?;
    let wire: wire::Config = parse::shape(text, name, &node)?;
    let check = Check { text, name, node: &node };
    let evaluation = wire.evaluation.unwrap_or_default();
    let limits = wire.limits.unwrap_or_default();
    Ok(EvalConfig {
        task_name: wire.task_name,
        sha256: Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
        subtask_passed: check.program(
            evaluation.subtask_passed.as_deref(),
            "subtask_passed",
            &[Root::Subtask],
        )?,
        final_passed: check.program(
            evaluation.final_passed.as_deref(),
            "final_passed",
            &[Root::Final, Root::Run],
        )?,
        limits: Limits {
            max_steps: wire.max_steps.map(|n| n.0),
            max_retry_per_step: evaluation.max_retry_per_step.map(|n| n.0),
            allowed_total_retries: evaluation.allowed_total_retries.map(|n| n.0),
            timeout_seconds: evaluation.timeout_seconds.map(|n| n.0),
            max_tokens_per_step: limits.max_tokens_per_step.map(|n| n.0),
            max_total_tokens: limits.max_total_tokens.map(|n| n.0),
            max_cost_usd: limits.max_cost_usd.map(|n| n.0),
        },
        metrics: check.metrics(wire.metrics, &["metrics"])?,
        mid_run: check.mid_run(wire.mid_run)?,
        pass_score: wire.pass_score.unwrap_or(1.0),
        steps: check.steps(wire.steps)?,
        error_types: check.taxonomy(wire.error_types.unwrap_or_default())?,
        infra_errors: wire.infra_errors.unwrap_or_default(),
        exit_codes: wire.exit_codes.unwrap_or_default(),
        expected_trials: check.expected_trials(wire.expected_trials)?,
        unfinished: wire.unfinished.unwrap_or_default(),
        scorer: wire.scorer,
        attempts_count: wire.attempts_count.unwrap_or_default(),
        side_effects: check.side_effects(wire.side_effects.unwrap_or_default())?,
        tool_schemas: wire.tool_schemas.unwrap_or_default(),
        thresholds: check.thresholds(wire.thresholds.unwrap_or_default())?,
        gate: check.gate(wire.gate.unwrap_or_default())?,
        diagnose: check.diagnose(wire.diagnose.unwrap_or_default())?,
    })
}

/// Whether a gate can say that a metric got worse.
pub(super) fn can_regress(metric: &MetricName) -> bool {
    metric.better != Better::Neither
}

/// Most trials that a task may be expected to have.
const MOST_TRIALS: u64 = 1_000;

/// The checks; each knows the file for its messages.
struct Check<'c> {
    text: &'c str,
    name: &'c str,
    node: &'c Node,
}

type Checked<T> = Result<T, ConfigError>;

impl Check<'_> {
    fn span(&self, path: &[String]) -> Range<usize> {
        self.node.at(path).map_or(0..1, |value| value.span.clone())
    }

    /// A fault at a value.
    fn fault<T>(&self, path: &[&str], message: String, help: &str) -> Checked<T> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        Err(ConfigError::of_file(self.name, message, help).at(self.text, self.span(&path), &path))
    }

    /// A fault at a key.
    fn fault_at_key<T>(&self, path: &[&str], message: String, help: &str) -> Checked<T> {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let span = self.node.key_at(&path).map_or(0..1, |key| key.span.clone());
        Err(ConfigError::of_file(self.name, message, help).at(self.text, span, &path))
    }

    /// Holds the rules to the known ones, and their numbers to those that can be compared.
    fn diagnose(
        &self,
        rules: BTreeMap<String, DiagnoseRule>,
    ) -> Checked<BTreeMap<String, DiagnoseRule>> {
        for (code, rule) in &rules {
            if !RULE_CODES.contains(&code.as_str()) {
                let help = match nearest(code, RULE_CODES.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the rules are {}", RULE_CODES.join(", ")),
                };
                return self.fault_at_key(
                    &["diagnose", code],
                    format!("unknown rule `{code}`"),
                    &help,
                );
            }
            if rule.limit.is_some_and(|limit| !(limit.is_finite() && limit >= 0.0)) {
                return self.fault(
                    &["diagnose", code, "limit"],
                    "the limit of a rule is a number of 0 or more".to_owned(),
                    "write one, or leave it out",
                );
            }
        }
        Ok(rules)
    }

    fn program(
        &self,
        source: Option<&str>,
        key: &str,
        roots: &[Root],
    ) -> Checked<Option<Arc<Program>>> {
        let Some(source) = source else { return Ok(None) };
        Program::compile(source, roots).map(|program| Some(Arc::new(program))).map_err(|error| {
            let path = ["evaluation".to_owned(), key.to_owned()];
            let span = inside_text(self.text, &self.span(&path), &error.range);
            ConfigError::of_file(
                self.name,
                format!("`{key}`: {}", error.message),
                error.help.as_deref().unwrap_or_default(),
            )
            .at(self.text, span, &path)
        })
    }

    /// Finds a metric; the fault stands at the value, or at the key for maps.
    fn metric(&self, name: &str, path: &[&str], at_key: bool) -> Checked<&'static MetricName> {
        if let Some(metric) = resolve_metric(name) {
            return Ok(metric);
        }
        let known = METRIC_NAMES.iter().flat_map(|m| std::iter::once(m.name).chain(m.alias));
        let help = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let names: Vec<_> = METRIC_NAMES.iter().map(|metric| metric.name).collect();
                format!("the metrics are {}", names.join(", "))
            }
        };
        let message = format!("there is no metric `{name}`");
        if at_key {
            self.fault_at_key(path, message, &help)
        } else {
            self.fault(path, message, &help)
        }
    }

    /// A list of metrics, each kept once: an alias beside its main name is the same metric.
    fn metrics(
        &self,
        names: Option<Vec<String>>,
        path: &[&str],
    ) -> Checked<Option<Vec<&'static MetricName>>> {
        let Some(names) = names else { return Ok(None) };
        if names.is_empty() {
            return self.fault(
                path,
                "the list of metrics is empty".to_owned(),
                "name some, or take the key out",
            );
        }
        let mut metrics: Vec<&'static MetricName> = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let at = at.to_string();
            let metric = self.metric(name, &[path, &[at.as_str()]].concat(), false)?;
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        Ok(Some(metrics))
    }

    fn mid_run(&self, mid_run: Option<wire::MidRun>) -> Checked<MidRun> {
        Ok(match mid_run {
            None | Some(wire::MidRun::Auto) => MidRun::Auto,
            Some(wire::MidRun::Interior) => MidRun::Interior,
            Some(wire::MidRun::AfterFirst) => MidRun::AfterFirst,
            Some(wire::MidRun::Window(wire::Window { from, to })) => {
                if !((0.0..=1.0).contains(&from) && (0.0..=1.0).contains(&to) && from < to) {
                    return self.fault(
                        &["mid_run"],
                        format!("the window from {from} to {to} is empty or leaves the run"),
                        "from must be below to, both between 0 and 1",
                    );
                }
                MidRun::Window { from, to }
            }
        })
    }

    fn steps(&self, steps: Option<wire::Steps>) -> Checked<StepSelection> {
        Ok(match steps {
            None | Some(wire::Steps::Tools) => StepSelection::Tools,
            Some(wire::Steps::All) => StepSelection::All,
            Some(wire::Steps::Kinds(kinds)) if kinds.is_empty() => {
                return self.fault(
                    &["steps"],
                    "the list of step types is empty, so no record would be a step".to_owned(),
                    "name some, or write `tools` or `all`",
                );
            }
            Some(wire::Steps::Kinds(kinds)) => StepSelection::Kinds(kinds),
        })
    }

    fn taxonomy(&self, rules: Vec<wire::ErrorType>) -> Checked<Taxonomy> {
        let mut taxonomy = Taxonomy::default();
        for (at, rule) in rules.into_iter().enumerate() {
            let at = at.to_string();
            if rule.pattern.is_empty() {
                return self.fault(
                    &["error_types", &at, "match"],
                    "an empty pattern matches every error".to_owned(),
                    "write what to look for, or `.*` to mean every error",
                );
            }
            if rule.kind.is_none() && rule.blame.is_none() {
                return self.fault(
                    &["error_types", &at],
                    "this rule says nothing of what it matches".to_owned(),
                    "add `type`, `blame` or both",
                );
            }
            if let Err(reason) = taxonomy.push(&rule.pattern, rule.kind, rule.blame) {
                return self.fault(
                    &["error_types", &at, "match"],
                    format!("this is no regular expression: {reason}"),
                    "mend the pattern; in JSON a backslash is written twice",
                );
            }
        }
        Ok(taxonomy)
    }

    fn expected_trials(&self, trials: Option<wire::Whole>) -> Checked<Option<u64>> {
        match trials {
            Some(wire::Whole(0)) => self.fault(
                &["expected_trials"],
                "expected_trials is 0, but a task has at least one trial".to_owned(),
                "write 1 or more, or take the key out",
            ),
            // Lost runs are counted one by one.
            Some(wire::Whole(trials)) if trials > MOST_TRIALS => self.fault(
                &["expected_trials"],
                format!(
                    "expected_trials is {trials}, but {MOST_TRIALS} trials of a task are the most"
                ),
                "write how often each task is run",
            ),
            trials => Ok(trials.map(|trials| trials.0)),
        }
    }

    fn side_effects(&self, patterns: Vec<String>) -> Checked<Vec<String>> {
        for (at, pattern) in patterns.iter().enumerate() {
            if pattern.is_empty() || globset::Glob::new(pattern).is_err() {
                return self.fault(
                    &["side_effects", &at.to_string()],
                    format!("`{pattern}` is no pattern for tool names"),
                    "write a name, with `*` for any part of it",
                );
            }
        }
        Ok(patterns)
    }

    fn thresholds(&self, bounds: BTreeMap<String, wire::Threshold>) -> Checked<Vec<Threshold>> {
        let mut thresholds: Vec<Threshold> = Vec::new();
        for (name, wire::Threshold { min, max }) in bounds {
            let path = ["thresholds", name.as_str()];
            let metric = self.metric(&name, &path, true)?;
            if is_distribution(metric) {
                return self.fault_at_key(
                    &path,
                    format!("`{name}` is a distribution, it has no single value to bound"),
                    "bound a rate such as `step_error_rate`",
                );
            }
            if min.is_none() && max.is_none() {
                return self.fault(
                    &path,
                    "this threshold has no bound".to_owned(),
                    "add `min`, `max` or both",
                );
            }
            if let (Some(min), Some(max)) = (min, max)
                && min > max
            {
                return self.fault(
                    &path,
                    format!("min {min} is above max {max}, so no value could meet it"),
                    "swap the two",
                );
            }
            for (bound, value) in [("min", min), ("max", max)] {
                self.in_unit(metric, value, &["thresholds", &name, bound])?;
            }
            if thresholds.iter().any(|known| known.metric == metric) {
                return self.fault_at_key(
                    &path,
                    format!("`{}` has two thresholds, one under its other name", metric.name),
                    "keep one of the two",
                );
            }
            thresholds.push(Threshold { metric, min, max });
        }
        Ok(thresholds)
    }

    /// Refuses a percentage where a share is due, and negative bounds.
    fn in_unit(&self, metric: &MetricName, value: Option<f64>, path: &[&str]) -> Checked<()> {
        let Some(value) = value else { return Ok(()) };
        if value < 0.0 {
            return self.fault(
                path,
                format!("`{}` is never below 0", metric.name),
                "write a number of at least 0",
            );
        }
        if metric.unit == Unit::Ratio && value > 1.0 {
            return self.fault(
                path,
                format!("`{}` is a share between 0 and 1, not {value}", metric.name),
                "write a percentage as a share, 90% as 0.9",
            );
        }
        Ok(())
    }

    fn gate(&self, gate: wire::Gate) -> Checked<GateConfig> {
        let default = GateConfig::default();
        let alpha = gate.alpha.unwrap_or(default.alpha);
        if !(1e-4..0.5).contains(&alpha) {
            return self.fault(
                &["gate", "alpha"],
                format!("alpha is {alpha}, but a level lies between 0.0001 and 0.5"),
                "write a number such as 0.05",
            );
        }
        for (at, name) in gate.metrics.iter().flatten().enumerate() {
            if resolve_metric(name).is_some_and(|metric| !can_regress(metric)) {
                return self.fault(
                    &["gate", "metrics", &at.to_string()],
                    format!("`{name}` only describes, it cannot get worse"),
                    "take it out of the gate; `metrics` may show it",
                );
            }
        }
        let metrics = self.metrics(gate.metrics, &["gate", "metrics"])?;
        let mut config = GateConfig {
            alpha,
            metrics,
            inconclusive: gate.inconclusive.unwrap_or_default(),
            ..default
        };
        for (name, margin) in gate.margin.unwrap_or_default() {
            let path = ["gate", "margin", name.as_str()];
            let margin = self.margin(&margin, &path)?;
            if name == "default" {
                config.margin_default = match margin {
                    Margin::Absolute(value) if value <= 1.0 => value,
                    _ => {
                        return self.fault(
                            &path,
                            "the default margin is for rates, and is a share between 0 and 1"
                                .to_owned(),
                            "write 0.05 for five percentage points",
                        );
                    }
                };
                continue;
            }
            let metric = self.metric(&name, &path, true)?;
            if !can_regress(metric) {
                return self.fault_at_key(
                    &path,
                    format!("`{name}` only describes, it cannot get worse"),
                    "take its margin out",
                );
            }
            if let Margin::Absolute(value) = margin {
                self.in_unit(metric, Some(value), &path)?;
            }
            if config.margins.insert(metric.name, margin).is_some() {
                return self.fault_at_key(
                    &path,
                    format!("`{}` has two margins, one under its other name", metric.name),
                    "keep one of the two",
                );
            }
        }
        Ok(config)
    }

    fn margin(&self, margin: &wire::Margin, path: &[&str]) -> Checked<Margin> {
        let read = match margin {
            wire::Margin::Absolute(value) => Some(Margin::Absolute(*value)),
            wire::Margin::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|number| number.trim().parse::<f64>().ok())
                .map(|percent| Margin::Relative(percent / 100.0)),
        };
        match read {
            Some(margin @ (Margin::Absolute(value) | Margin::Relative(value)))
                if value.is_finite() && value >= 0.0 =>
            {
                Ok(margin)
            }
            _ => self.fault(
                path,
                "this is no margin".to_owned(),
                "write a number of at least 0, or a share of the baseline such as \"10%\"",
            ),
        }
    }
}

/// Whether a metric has counts alone and no single value.
fn is_distribution(metric: &MetricName) -> bool {
    metric.better == Better::Neither && metric.unit == Unit::Count
}

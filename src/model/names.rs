//! The names, units and directions of every figure, so that configs and flags can be checked.

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: the figure describes.
    Neither,
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share between 0 and 1.
    Ratio,
    /// A number of things.
    Count,
    /// A number of steps, or a step's position from 1.
    Steps,
    /// Seconds.
    Seconds,
    /// Tokens.
    Tokens,
    /// US dollars.
    Usd,
}

/// One figure's name in reports and configs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricName {
    /// The name in JSON.
    pub name: &'static str,
    /// Another name that configs may use.
    pub alias: Option<&'static str>,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
}

const fn entry(name: &'static str, unit: Unit, better: Better) -> MetricName {
    MetricName { name, alias: None, unit, better }
}

const fn aliased(
    name: &'static str,
    alias: &'static str,
    unit: Unit,
    better: Better,
) -> MetricName {
    MetricName { name, alias: Some(alias), unit, better }
}

/// Every figure, in the order in which reports show them.
pub const METRIC_NAMES: [MetricName; 22] = [
    entry("first_step_accuracy", Unit::Ratio, Better::Higher),
    aliased("mid_term_error_rate", "mid_run_error_rate", Unit::Ratio, Better::Lower),
    entry("mid_term_recovery_rate", Unit::Ratio, Better::Higher),
    aliased("final_completion_rate", "success_rate", Unit::Ratio, Better::Higher),
    entry("failure_recovery_rate", Unit::Ratio, Better::Higher),
    entry("avg_retry_count", Unit::Count, Better::Lower),
    entry("retry_success_rate", Unit::Ratio, Better::Higher),
    entry("avg_steps", Unit::Steps, Better::Lower),
    entry("avg_steps_completed", Unit::Steps, Better::Lower),
    entry("step_error_rate", Unit::Ratio, Better::Lower),
    entry("error_type_distribution", Unit::Count, Better::Neither),
    entry("step_type_distribution", Unit::Count, Better::Neither),
    entry("first_failure_position", Unit::Steps, Better::Neither),
    entry("repeated_action_rate", Unit::Ratio, Better::Lower),
    entry("intervention_rate", Unit::Ratio, Better::Lower),
    entry("duration_seconds", Unit::Seconds, Better::Lower),
    entry("total_tokens", Unit::Tokens, Better::Lower),
    entry("cost_usd", Unit::Usd, Better::Lower),
    entry("cost_per_completion", Unit::Usd, Better::Lower),
    entry("failure_cost_share", Unit::Ratio, Better::Lower),
    aliased("pass_hat_k", "pass^k", Unit::Ratio, Better::Higher),
    aliased("pass_at_k", "pass@k", Unit::Ratio, Better::Higher),
];

/// Finds a figure by its name or alias.
#[must_use]
pub fn resolve_metric(name: &str) -> Option<&'static MetricName> {
    METRIC_NAMES.iter().find(|metric| metric.name == name || metric.alias == Some(name))
}

/// The known name that is nearest to `given`, if one is near enough to be meant.
pub fn nearest<'n>(given: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let given = given.to_ascii_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&given, &name.to_ascii_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{METRIC_NAMES, nearest, resolve_metric};

    #[test]
    fn aliases_resolve_to_their_main_name() {
        assert_eq!(resolve_metric("success_rate").map(|m| m.name), Some("final_completion_rate"));
        assert_eq!(
            resolve_metric("mid_run_error_rate").map(|m| m.name),
            Some("mid_term_error_rate")
        );
        assert_eq!(resolve_metric("accuracy"), None);
    }

    #[test]
    fn the_nearest_name_is_offered_only_if_it_is_near() {
        let names = || METRIC_NAMES.iter().map(|m| m.name);
        assert_eq!(nearest("first_step_acuracy", names()), Some("first_step_accuracy"));
        assert_eq!(nearest("zzz", names()), None);
    }
}

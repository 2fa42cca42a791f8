//! Pure functions over numbers: intervals, quantiles, pass^k, resampling, and the
//! tests that compare two arms.
//!
//! Owns: the 95% intervals of the figures (METRICS.md, "Intervals"), the tests and
//! intervals of a difference between a candidate and a baseline (STATISTICS.md,
//! section 5), how many tasks or trials would decide it, the distributions all these
//! need, and the fixed random numbers of bootstrap and permutation.
//! Refuses: trajectories, tasks and runs (callers sum each task or run into a
//! [`Cluster`], a [`Stratum`] or numbers of the runs of a [`Design`]), verdicts and
//! which direction is harm, reading, rounding and printing.
//!
//! Every function names its reference, what it assumes and where it is undefined.
//! What is undefined is `None` or a [`NoInterval`] with its reason: never NaN,
//! never an interval of zero width, never one outside the range of the figure.

mod agreement;
mod bootstrap;
mod categories;
mod difference;
mod distributions;
mod exact;
mod hazard;
mod interval;
mod label_tests;
mod logistic;
mod multiplicity;
mod pass_k;
mod permutation;
mod power;
mod proportion;
mod quantile;
mod random;
mod ratio;
mod relabel;
mod survival;
mod task_tests;
mod time_horizon;

pub use agreement::{
    Estimate, JudgeAgreement, RatedStratum, Uncorrected, VerdictTable, corrected_rate,
    judge_agreement, rater_agreement,
};
pub use bootstrap::{Bca, bca, bca_ratio, leave_one_out, ratio_of_drawn};
pub use categories::{bootstrap_tv, g_statistic, jensen_shannon_distance, total_variation};
pub use difference::{
    Difference, adjusted_paired_t, effective_n, icc_oneway, mover, newcombe, paired_t,
    ratio_difference, ratio_difference_unpaired, welch,
};
pub use distributions::{normal_cdf, normal_quantile, t_cdf, t_critical, t_quantile};
pub use exact::{Exact, Stratum, Tails, fisher_two_sided, smallest_p, stratified_exact};
pub use hazard::{
    Ended, Geometric, Incidence, StepRisk, Thirds, Trend, Weibull, aalen_johansen,
    chi_squared_tail, hazard_trend, horizon_at, steps_at_risk, survival_to, thirds, trend_slope,
};
pub use interval::{Cluster, Interval, NoInterval};
pub use label_tests::{
    Drop, permute_g, permute_mean_difference, permute_ratio, permute_sum, squared_drop,
};
pub use logistic::{Link, ShareFit, SharePoint, fit_share};
pub use multiplicity::holm;
pub use pass_k::{
    TaskValues, Trials, pass_at_k, pass_at_k_by_task, pass_hat_k, pass_hat_k_by_task,
};
pub use permutation::{Draws, Permuted, Stop, permute};
pub use power::{
    Arms, SplitVariance, TASKS_MARGIN, detectable, miller_variance, needed_tasks, split_variance,
};
pub use proportion::{Effective, clustered_wilson, wilson};
pub use quantile::{median, quantile_type7};
pub use random::SplitMix64;
pub use ratio::{Linearisation, linearise, mean_and_error, mean_interval, ratio_mean_interval};
pub use relabel::Design;
pub use survival::{Followed, LifeStep, kaplan_meier};
pub use task_tests::permute_tasks;
pub use time_horizon::{
    HorizonAt, HorizonSettings, RunWeights, TimeHorizon, TimedTask, time_horizon,
};

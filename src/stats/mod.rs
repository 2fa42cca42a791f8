//! Pure functions over numbers: intervals, quantiles, pass^k and resampling.
//!
//! Owns: the 95% intervals of the figures (METRICS.md, "Intervals"), the
//! distributions they need, and the fixed random numbers of the bootstrap.
//! Refuses: trajectories, tasks and runs (callers sum each task or run into a
//! [`Cluster`]), reading, rounding and printing.
//!
//! Every function names its reference, what it assumes and where it is undefined.
//! What is undefined is `None` or a [`NoInterval`] with its reason: never NaN,
//! never an interval of zero width, never one outside the range of the figure.

mod bootstrap;
mod distributions;
mod interval;
mod pass_k;
mod proportion;
mod quantile;
mod random;
mod ratio;

pub use bootstrap::{Bca, bca, bca_ratio, leave_one_out, ratio_of_drawn};
pub use distributions::{normal_cdf, normal_quantile, t_critical, t_quantile};
pub use interval::{Cluster, Interval, NoInterval};
pub use pass_k::{
    TaskValues, Trials, pass_at_k, pass_at_k_by_task, pass_hat_k, pass_hat_k_by_task,
};
pub use proportion::{clustered_wilson, wilson};
pub use quantile::{median, quantile_type7};
pub use random::SplitMix64;
pub use ratio::{Linearisation, linearise, mean_and_error, mean_interval, ratio_mean_interval};

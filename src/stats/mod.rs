//! Pure functions over numbers: intervals and resampling. Knows no trajectory.

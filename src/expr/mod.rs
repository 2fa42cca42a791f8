//! The only place that names `cel`.

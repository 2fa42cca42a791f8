//! The text of an eval config, by which a fixed run is judged.
#![no_main]

agenteval_fuzz::target!(config);

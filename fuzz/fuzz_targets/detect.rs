//! Any file, by itself: detection and everything behind it.
#![no_main]

agenteval_fuzz::target!(detect);

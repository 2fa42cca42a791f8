//! The bytes of a baseline's file.
#![no_main]

agenteval_fuzz::target!(baselines);

//! A field mapping, and records to be read by it.
#![no_main]

agenteval_fuzz::target!(mapping);

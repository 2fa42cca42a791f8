//! A file of the format that its first line names.
#![no_main]

agenteval_fuzz::target!(readers);

//! Bytes in pieces: records are the same however they come.
#![no_main]

agenteval_fuzz::target!(splitter);

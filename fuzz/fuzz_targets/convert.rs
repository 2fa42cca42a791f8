//! Any file: what is read of it, written in the native form, reads back as the same.
#![no_main]

agenteval_fuzz::target!(convert);

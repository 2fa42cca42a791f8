//! An expression, over a fixed run and over the JSON behind it.
#![no_main]

agenteval_fuzz::target!(expressions);

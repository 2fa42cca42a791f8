//! Several files that lie beside each other: joins, and what is told apart by place.
#![no_main]

agenteval_fuzz::target!(folder);

//! JSON text: what is read quickly is what serde_json reads.
#![no_main]

agenteval_fuzz::target!(values);

//! Every format, and what happens between files: what is read, refused, joined, and converted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../support/chat.rs"]
mod chat;
#[path = "../support/cli.rs"]
mod cli;
#[path = "../support/events.rs"]
mod events;
#[path = "../support/frames.rs"]
mod frames;
#[path = "../support/rows.rs"]
mod rows;
#[path = "../support/spans.rs"]
mod spans;
#[path = "../support/mod.rs"]
mod support;

mod attempt_bytes;
mod bug_reports_bench;
mod bug_reports_chat;
mod bug_reports_events;
mod bug_reports_frames;
mod bug_reports_joins;
mod bug_reports_spans;
mod convert_lossless;
mod format_agent_task;
mod format_anthropic;
mod format_atif;
mod format_autogen;
mod format_checkpoints;
mod format_claude_code;
mod format_claude_stream;
mod format_codex;
mod format_codex_exec;
mod format_gemini_cli;
mod format_harbor;
mod format_inspect_ai;
mod format_jaeger;
mod format_langchain;
mod format_langfuse;
mod format_langsmith;
mod format_map;
mod format_mcpmark;
mod format_message_lists;
mod format_mini_swe_agent;
mod format_mlflow;
mod format_openai_agents;
mod format_openai_chat;
mod format_openai_responses;
mod format_openhands;
mod format_openinference;
mod format_others;
mod format_otlp;
mod format_pydantic_ai;
mod format_runs_table;
mod format_runs_table_objects;
mod format_smolagents;
mod format_steplog;
mod format_swe_agent;
mod format_tau2;
mod format_tau_bench;
mod format_temporal;
mod format_terminal_bench;
mod format_vercel_ai;
mod format_who_and_when;
mod fuzz_corpus;
mod hostile_depth;
mod hostile_spans;
mod joins;
mod real_files;
mod steplog_long;

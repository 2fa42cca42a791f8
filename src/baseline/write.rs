//! From a baseline to the bytes of its file: a header key a line, a list entry a line, a run a line.

use serde::Serialize;

use super::judging::{json, sha256_hex};
use super::line::RunWire;
use super::wire::{ConfigWire, InputWire, MoveWire, SaveWire};
use super::{Baseline, SCHEMA};

impl Baseline {
    /// The file: the same baseline gives the same bytes. It ends with a line break.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::with_capacity(1024 + self.rows.len() * 400);
        out.push_str("{\n");
        entry(&mut out, "schema", &SCHEMA);
        entry(&mut out, "agenteval", &self.agenteval);
        entry(&mut out, "definitions", &self.definitions);
        entry(&mut out, "name", &self.name);
        if let Some(config) = &self.config {
            entry(&mut out, "config", &ConfigWire::from(config));
        }
        let settings = self.judging.settings();
        let members = settings.iter().map(|(key, value)| format!("\"{key}\": {value}"));
        lines(&mut out, "judging", ['{', '}'], members);
        entry(&mut out, "judging_sha256", &self.judging.sha256());
        entry(&mut out, "agents", &self.agents());
        entry(&mut out, "models", &self.models());
        list(&mut out, "saves", self.saves.iter().map(SaveWire::from));
        list(&mut out, "inputs", self.inputs.iter().map(InputWire::from));
        if !self.history.is_empty() {
            list(&mut out, "history", self.history.iter().map(MoveWire::from));
        }
        out.push_str("  \"runs\": [\n");
        for (at, (row, save)) in self.rows.iter().zip(&self.save_of).enumerate() {
            out.push_str(if at == 0 { "" } else { ",\n" });
            out.push_str(&json(&RunWire::of(row, *save)));
        }
        out.push_str(if self.rows.is_empty() { "  ]\n}\n" } else { "\n  ]\n}\n" });
        out.into_bytes()
    }
}

fn entry(out: &mut String, key: &str, value: &impl Serialize) {
    out.push_str(&format!("  \"{key}\": {},\n", json(value)));
}

fn list<T: Serialize>(out: &mut String, key: &str, entries: impl Iterator<Item = T>) {
    lines(out, key, ['[', ']'], entries.map(|entry| json(&entry)));
}

fn lines(
    out: &mut String,
    key: &str,
    [open, close]: [char; 2],
    entries: impl Iterator<Item = String>,
) {
    let entries: Vec<String> = entries.map(|entry| format!("\n    {entry}")).collect();
    let end = if entries.is_empty() { "" } else { "\n  " };
    out.push_str(&format!("  \"{key}\": {open}{}{end}{close},\n", entries.join(",")));
}

/// SHA-256 in hex of a file with its line ends as `\n`: what git does to them on Windows must not
/// make another baseline of it. JSON has no bare carriage return inside of texts.
#[must_use]
pub(super) fn digest(bytes: &[u8]) -> String {
    if !bytes.contains(&b'\r') {
        return sha256_hex(bytes);
    }
    let next = bytes.iter().copied().skip(1).map(Some).chain([None]);
    let kept = bytes.iter().copied().zip(next);
    let plain: Vec<u8> = kept
        .filter(|(byte, next)| !(*byte == b'\r' && *next == Some(b'\n')))
        .map(|(byte, _)| byte)
        .collect();
    sha256_hex(&plain)
}

//! Runs written one after the other: as lines, as an array, or as one object where there is one.

use std::io::{self, Write};

/// What stands around and between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A run a line.
    Lines,
    /// An array.
    Array,
    /// A single run alone, several as an array.
    OneOrArray,
}

/// Writes runs as they come; at most one is kept.
pub(super) struct Lines<W> {
    to: W,
    framing: Framing,
    count: u64,
    /// The first run, while it may be the only one.
    first: Option<String>,
}

impl<W: Write> Lines<W> {
    pub(super) fn to(to: W, framing: Framing) -> Self {
        Self { to, framing, count: 0, first: None }
    }

    /// Writes the next run.
    pub(super) fn put(&mut self, line: &str) -> io::Result<()> {
        self.count += 1;
        match (self.framing, self.count) {
            (Framing::Lines, _) => return self.line("", line, "\n"),
            (Framing::OneOrArray, 1) => {
                self.first = Some(line.to_owned());
                return Ok(());
            }
            (Framing::Array, 1) => return self.line("[\n", line, ""),
            _ => {}
        }
        if let Some(first) = self.first.take() {
            self.line("[\n", &first, "")?;
        }
        self.line(",\n", line, "")
    }

    fn line(&mut self, before: &str, line: &str, after: &str) -> io::Result<()> {
        self.to.write_all(before.as_bytes())?;
        self.to.write_all(line.as_bytes())?;
        self.to.write_all(after.as_bytes())
    }

    /// Closes what is open, and gives back what was written to.
    pub(super) fn end(mut self) -> io::Result<W> {
        match (self.framing, self.first.take(), self.count) {
            (Framing::Lines, ..) => {}
            (_, Some(only), _) => self.line("", &only, "\n")?,
            (_, None, 0) => self.line("[", "", "]\n")?,
            (_, None, _) => self.line("\n", "]", "\n")?,
        }
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::{Framing, Lines};

    #[test]
    fn every_number_of_runs_is_sound_json() {
        for (framing, wanted) in [
            (Framing::Lines, ["", "1\n", "1\n2\n3\n"]),
            (Framing::Array, ["[]\n", "[\n1\n]\n", "[\n1,\n2,\n3\n]\n"]),
            (Framing::OneOrArray, ["[]\n", "1\n", "[\n1,\n2,\n3\n]\n"]),
        ] {
            for (runs, wanted) in [&[][..], &["1"], &["1", "2", "3"]].into_iter().zip(wanted) {
                let mut lines = Lines::to(Vec::new(), framing);
                assert!(runs.iter().all(|run| lines.put(run).is_ok()));
                let bytes = lines.end().unwrap_or_default();
                assert_eq!(String::from_utf8_lossy(&bytes), wanted, "{framing:?}");
            }
        }
    }
}

//! Paths of fields: `a.b`, `a[0].b`, `a[].b`, `a[-1]`, `"time.busy"`, `$.a`.
//!
//! Owns the grammar. Refuses wildcards over keys: a mapping names what it reads.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The member of an object.
    Key(String),
    /// The element of a list, from 0.
    At(usize),
    /// The first element that has the rest of the path and is not null there.
    Each,
    /// The last element.
    Last,
}

impl Part {
    /// The key, if it is one.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            _ => None,
        }
    }
}

/// A path from a record, or from what is around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Whether it starts at the value around the record: `$.a`.
    pub outer: bool,
    /// Its steps; none for the value itself.
    pub parts: Vec<Part>,
}

/// Most steps of a path: no record nests deeper than JSON that is read at all.
const MOST_PARTS: usize = 64;

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Says what is wrong with it, as a lowercase fragment.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("the path is empty; `$` alone would be the value around the record".into());
        }
        let (outer, mut rest) = match text.strip_prefix('$') {
            Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                (true, rest.strip_prefix('.').unwrap_or(rest))
            }
            _ => (false, text),
        };
        let mut parts = Vec::new();
        while !rest.is_empty() {
            if parts.len() == MOST_PARTS {
                return Err(format!("the path has more than {MOST_PARTS} parts"));
            }
            let behind;
            if let Some(inside) = rest.strip_prefix('[') {
                let (index, after) =
                    inside.split_once(']').ok_or("a `[` of the path has no `]`")?;
                parts.push(match index.trim() {
                    "" => Part::Each,
                    "-1" => Part::Last,
                    number => Part::At(number.parse().map_err(|_| {
                        format!("`[{number}]` is no index: write a number from 0, -1, or nothing")
                    })?),
                });
                behind = after;
            } else if let Some(inside) = rest.strip_prefix('"') {
                let (key, after) = quoted(inside)?;
                parts.push(Part::Key(key));
                behind = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                if key.is_empty() {
                    return Err("a key of the path is empty; two dots stand in a row".into());
                }
                parts.push(Part::Key(key.to_owned()));
                behind = after;
            }
            rest = match behind.strip_prefix('.') {
                Some("") => return Err("the path ends in a dot".into()),
                Some(more) => more,
                None if behind.is_empty() || behind.starts_with('[') => behind,
                None => return Err("a dot must stand behind a quoted key or an index".into()),
            };
        }
        Ok(Self { outer, parts })
    }

    /// The path without a last `[]`, as the path of a list.
    #[must_use]
    pub fn of_list(mut self) -> Self {
        if self.parts.last() == Some(&Part::Each) {
            self.parts.pop();
        }
        self
    }
}

/// A key in quotes, behind the first of them, and what follows.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((key, text.get(at + 1..).unwrap_or_default())),
            '\\' => key.extend(chars.next().map(|(_, c)| c)),
            c => key.push(c),
        }
    }
    Err("a quoted key of the path has no end".into())
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.outer {
            f.write_str("$")?;
        }
        for (nth, part) in self.parts.iter().enumerate() {
            let dot = if nth > 0 || self.outer { "." } else { "" };
            match part {
                Part::Key(key)
                    if key.is_empty() || key.contains(['.', '[', ']', '"', '\\', '$']) =>
                {
                    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(f, "{dot}\"{key}\"")?;
                }
                Part::Key(key) => write!(f, "{dot}{key}")?,
                Part::At(at) => write!(f, "[{at}]")?,
                Part::Each => f.write_str("[]")?,
                Part::Last => f.write_str("[-1]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Path};

    #[test]
    fn paths_are_read_and_written_alike() {
        for text in [
            "a",
            "a.b",
            "a[0].b",
            "a[].b",
            "a[-1]",
            "[1].type",
            "\"time.busy\"",
            "a.\"b.c\"[]",
            "$",
            "$.a.b",
            "$[0]",
        ] {
            assert_eq!(Path::read(text).map(|path| path.to_string()), Ok(text.to_owned()));
        }
        let path = Path::read("a.\"b \\\" c\"[]").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(path.parts.get(1), Some(&Part::Key("b \" c".into())));
        assert_eq!(path.of_list().parts.len(), 2);
    }

    #[test]
    fn a_path_that_is_none_says_why() {
        for (text, why) in [
            ("", "empty"),
            ("a..b", "two dots"),
            ("a.", "ends in a dot"),
            ("a[", "no `]`"),
            ("a[x]", "no index"),
            ("\"a", "no end"),
            ("a[0]b", "a dot must stand"),
        ] {
            assert!(Path::read(text).is_err_and(|error| error.contains(why)), "{text}");
        }
    }
}

//! Reading filled sheets, and the key.
//!
//! Owns: CSV as spreadsheets write it (`,` `;` or tabs, a byte order mark) and JSON, and the words of
//! verdicts. Refuses: words that are no verdict, ids and columns that come twice, and other versions.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::wire::{Key, Verdict};

/// The key's version.
const KEY_SCHEMA: &str = "agenteval.review-key/1";
/// The sheet's version.
const SHEET_SCHEMA: &str = "agenteval.review-sheet/1";

/// What a person says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rating {
    /// A verdict.
    Verdict(Verdict),
    /// The person cannot tell.
    Unsure,
    /// Nothing was filled in.
    Blank,
}

/// One filled sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ratings {
    /// Who rated: the name of the sheet.
    pub rater: String,
    /// Ratings by the id of the row.
    pub ratings: BTreeMap<String, Rating>,
}

/// Why a sheet cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// Broken as CSV or JSON, or with columns missing.
    #[error("{sheet}: {reason}")]
    Unreadable {
        /// The sheet.
        sheet: String,
        /// Why, with the remedy.
        reason: String,
    },
    /// A word that is no verdict.
    #[error(
        "{sheet}: row `{id}` has the verdict `{word}`; write pass, fail or unsure, or leave it blank"
    )]
    NoVerdict {
        /// The sheet.
        sheet: String,
        /// The row.
        id: String,
        /// What it has.
        word: String,
    },
    /// Two rows of one id.
    #[error("{sheet}: the row `{id}` is there twice; keep one of them")]
    Twice {
        /// The sheet.
        sheet: String,
        /// The row.
        id: String,
    },
}

/// Why a key cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct KeyError {
    /// The key.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// A sheet as JSON; other fields are not read.
#[derive(Deserialize)]
struct JsonSheet {
    #[serde(default)]
    schema: String,
    rows: Vec<JsonRow>,
}

#[derive(Deserialize)]
struct JsonRow {
    id: String,
    #[serde(default)]
    verdict: Option<String>,
}

/// Reads a filled sheet; `name` is its name for messages and that of the rater.
///
/// # Errors
/// See [`SheetError`].
pub fn read_sheet(bytes: &[u8], name: &str, rater: &str) -> Result<Ratings, SheetError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let rows = match bytes.trim_ascii_start().first() {
        Some(b'{') => json_rows(bytes),
        _ => csv_rows(bytes),
    };
    let rows = rows.map_err(|reason| SheetError::Unreadable { sheet: name.to_owned(), reason })?;
    let mut ratings = BTreeMap::new();
    for (id, word) in rows {
        let Some(rating) = rating(&word) else {
            let word = word.chars().take(40).collect();
            return Err(SheetError::NoVerdict { sheet: name.to_owned(), id, word });
        };
        if ratings.insert(id.clone(), rating).is_some() {
            return Err(SheetError::Twice { sheet: name.to_owned(), id });
        }
    }
    Ok(Ratings { rater: rater.to_owned(), ratings })
}

/// What a word says; `None` for one that says nothing.
fn rating(word: &str) -> Option<Rating> {
    match word.trim().to_lowercase().as_str() {
        "" => Some(Rating::Blank),
        "pass" | "passed" => Some(Rating::Verdict(Verdict::Pass)),
        "fail" | "failed" => Some(Rating::Verdict(Verdict::Fail)),
        "unsure" => Some(Rating::Unsure),
        _ => None,
    }
}

type Rows = Result<Vec<(String, String)>, String>;

fn json_rows(bytes: &[u8]) -> Rows {
    let sheet: JsonSheet =
        serde_json::from_slice(bytes).map_err(|error| format!("no sheet: {error}"))?;
    if sheet.schema != SHEET_SCHEMA {
        return Err(format!("the schema is `{}`, expected `{SHEET_SCHEMA}`", cut(&sheet.schema)));
    }
    Ok(sheet.rows.into_iter().map(|row| (row.id, row.verdict.unwrap_or_default())).collect())
}

fn csv_rows(bytes: &[u8]) -> Rows {
    let head = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| head.iter().filter(|byte| **byte == delimiter).count();
    let delimiter = [b',', b';', b'\t'].into_iter().max_by_key(|d| (count(*d), *d == b','));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .flexible(true)
        .from_reader(bytes);
    let broken = |error: csv::Error| format!("no CSV: {error}");
    let header = reader.byte_headers().map_err(broken)?.clone();
    let column = |name: &str| {
        let named = |cell: &[u8]| String::from_utf8_lossy(cell).trim().eq_ignore_ascii_case(name);
        let mut found = header.iter().enumerate().filter(|(_, cell)| named(cell));
        let Some((first, _)) = found.next() else {
            return Err(format!(
                "there is no column `{name}`; give a sheet of `agenteval review sample`"
            ));
        };
        // Which of two is meant would be a guess.
        match found.next() {
            Some(_) => Err(format!("the column `{name}` is there twice; keep one of them")),
            None => Ok(first),
        }
    };
    let (id, verdict) = (column("id")?, column("verdict")?);
    let mut rows = Vec::new();
    for record in reader.byte_records() {
        let record = record.map_err(broken)?;
        let cell = |at| record.get(at).map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
        let id = cell(id).unwrap_or_default();
        let verdict = cell(verdict).unwrap_or_default();
        // Spreadsheets keep empty rows at the end.
        if !(id.is_empty() && verdict.is_empty()) {
            rows.push((id, verdict));
        }
    }
    Ok(rows)
}

/// Reads a key; `name` is its name for messages.
///
/// # Errors
/// Text that is no key, and one of another version.
pub fn read_key(bytes: &[u8], name: &str) -> Result<Key, KeyError> {
    let fault = |reason: String| KeyError { key: name.to_owned(), reason };
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        schema: String,
    }
    let head: Head =
        serde_json::from_slice(bytes).map_err(|error| fault(format!("no key: {error}")))?;
    if head.schema != KEY_SCHEMA {
        return Err(fault(format!(
            "the schema is `{}`, expected `{KEY_SCHEMA}`; give the key that was written with the sheet",
            cut(&head.schema)
        )));
    }
    serde_json::from_slice(bytes).map_err(|error| fault(format!("no key: {error}")))
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Ratings, String> {
        read_sheet(text.as_bytes(), "s.csv", "s").map_err(|error| error.to_string())
    }

    #[test]
    fn sheets_of_spreadsheets_are_read_whatever_their_separator() {
        let wanted = [("a", Rating::Verdict(Verdict::Pass)), ("b", Rating::Blank)];
        let wanted: BTreeMap<String, Rating> =
            wanted.map(|(id, rating)| (id.to_owned(), rating)).into();
        for text in [
            "id,verdict,note\na,pass,\nb,,\n",
            "\u{feff}id;verdict;note\r\na;Pass;x, y, z\r\nb;;\r\n;;\r\n",
            "note\tverdict\tid\n\tPASS \ta\n\t\tb\n",
            "id,content,verdict\na,\"x\ny\",pass\nb,,\n",
            r#"{"schema": "agenteval.review-sheet/1", "rows": [{"id": "a", "verdict": "pass"}, {"id": "b"}]}"#,
        ] {
            assert_eq!(read(text).map(|sheet| sheet.ratings), Ok(wanted.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_no_rating_is_an_error_that_says_what_to_write() {
        let error = read("id,verdict\na,maybe\n").unwrap_err();
        assert_eq!(
            error,
            "s.csv: row `a` has the verdict `maybe`; write pass, fail or unsure, or leave it blank"
        );
        assert!(read("id,verdict\na,pass\na,fail\n").unwrap_err().contains("twice"));
        assert!(
            read("id,Verdict,verdict\na,pass,fail\n")
                .unwrap_err()
                .contains("`verdict` is there twice")
        );
        assert!(read("id,id ,verdict\na,b,fail\n").unwrap_err().contains("`id` is there twice"));
        assert!(read("id,note\na,pass\n").unwrap_err().contains("no column `verdict`"));
        assert!(read("{\"rows\": []}").unwrap_err().contains("the schema is"));
    }
}

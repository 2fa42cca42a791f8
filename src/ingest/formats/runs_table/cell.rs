//! One cell of a table: what its text says.
//!
//! Owns the spellings of truth, numbers and "not recorded" that spreadsheets and data frames write.
//! Refuses to guess: a decimal comma, a percent sign or a thousands separator is no number.

use std::borrow::Cow;

use super::super::raw::quoted;

/// The text of a cell without spaces around it; `None` where nothing is recorded.
pub(super) fn recorded<'r>(cell: &Cow<'r, str>) -> Option<Cow<'r, str>> {
    const NOTHING: [&str; 6] = ["nan", "none", "null", "na", "n/a", "<na>"];
    let text = match cell {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    };
    let nothing = |word: &&str| text.eq_ignore_ascii_case(word);
    (!text.is_empty() && !NOTHING.iter().any(nothing)).then_some(text)
}

/// What a word or number of truth says; `None` for any other.
pub(super) fn flag(text: &str) -> Option<bool> {
    const TRUE: [&str; 11] = [
        "true",
        "yes",
        "y",
        "t",
        "pass",
        "passed",
        "success",
        "successful",
        "succeeded",
        "resolved",
        "correct",
    ];
    const FALSE: [&str; 11] = [
        "false",
        "no",
        "n",
        "f",
        "fail",
        "failed",
        "failure",
        "unsuccessful",
        "unresolved",
        "incorrect",
        "wrong",
    ];
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&TRUE) {
        return Some(true);
    }
    if is(&FALSE) {
        return Some(false);
    }
    match number(text) {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        _ => None,
    }
}

/// A finite number in the notation of programs.
pub(super) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The cell as JSON: what JSON reads as a number or truth value is one, what is not recorded is
/// `null`, all else is a text. A long whole number is an id: as a float it would be another.
pub(super) fn json(cell: &str) -> Cow<'static, str> {
    let Some(text) = recorded(&Cow::Borrowed(cell)) else { return Cow::Borrowed("null") };
    if text.eq_ignore_ascii_case("true") {
        return Cow::Borrowed("true");
    }
    if text.eq_ignore_ascii_case("false") {
        return Cow::Borrowed("false");
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let numeric = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && !(digits && text.len() > 15)
        && serde_json::from_str::<f64>(&text).is_ok();
    Cow::Owned(if numeric { text.into_owned() } else { quoted(cell) })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{flag, json, number, recorded};

    #[test]
    fn a_cell_is_read_as_people_and_data_frames_write_it() {
        for nothing in ["", "  ", "NaN", "nan", "None", "null", "<NA>", "n/a"] {
            assert_eq!(recorded(&Cow::Borrowed(nothing)), None, "{nothing:?}");
        }
        for word in ["1", "1.0", "TRUE", "True", "yes", "pass", "Passed", "Successful"] {
            assert_eq!(flag(word), Some(true), "{word}");
        }
        for word in ["0", "0.0", "-0", "False", "no", "FAIL", "failed", "Unsuccessful"] {
            assert_eq!(flag(word), Some(false), "{word}");
        }
        for word in ["0.5", "2", "maybe", "1,0", "error"] {
            assert_eq!(flag(word), None, "{word}");
        }
        assert_eq!((number("1e3"), number(".5")), (Some(1000.0), Some(0.5)));
        assert_eq!((number("1,5"), number("95%"), number("inf")), (None, None, None));
    }

    #[test]
    fn a_cell_becomes_the_json_that_expressions_expect() {
        for (cell, expected) in [
            ("0.50", "0.50"),
            (" 7 ", "7"),
            ("-1e-5", "-1e-5"),
            ("007", "\"007\""),
            ("1234567890123456789", "\"1234567890123456789\""),
            ("1e999", "\"1e999\""),
            ("True", "true"),
            ("nan", "null"),
            ("=cmd|' /C calc'!A0", "\"=cmd|' /C calc'!A0\""),
            ("a \"b\"\n", "\"a \\\"b\\\"\\n\""),
        ] {
            assert_eq!(json(cell), expected, "{cell:?}");
        }
    }
}

//! A message without what changes from run to run.
//!
//! Owns which parts of a message are ids, times, numbers, paths, addresses, and which are words.
//! Written by hand rather than as expressions, and with ASCII rules only, so that a template is the
//! same on every platform and with every version of a library. Linear in the length of the message.

mod chunks;
mod words;

use crate::model::mask;
use chunks::{plain, urls};

/// What stands for ids, hashes, times and numbers. One for all: an id of digits alone is still an id.
const NUMBER: &str = "<#>";
const PATH: &str = "<path>";
const URL: &str = "<url>";
const EMAIL: &str = "<email>";
const VALUE: &str = "<value>";

/// Bytes of a message that are read from its start, and from its end where it is longer.
const HEAD: usize = 48 << 10;
const TAIL: usize = 16 << 10;

/// Characters of a template that are kept from its start and its end where it is longer than both.
const KEPT_HEAD: usize = 400;
const KEPT_TAIL: usize = 200;

/// Bytes between two quotes that are looked at as one value.
const QUOTED: usize = 300;

const MONTHS: [&str; 23] = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
    "January",
    "February",
    "March",
    "April",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 14] = [
    "Mon",
    "Tue",
    "Wed",
    "Thu",
    "Fri",
    "Sat",
    "Sun",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token<'m> {
    /// ASCII letters, and digits where they belong to the word.
    Word(&'m str),
    /// What stands between words.
    Gap(&'m str),
    /// What changes, as its placeholder.
    Hole(&'static str),
}

/// The message with placeholders for ids, hashes, hex, times, numbers (all `<#>`), paths, addresses
/// and e-mails, and quoted values that hold such things; on one line, masked and bounded. Words stay
/// as they are, and so do the codes of statuses and exits, since those are words for faults.
#[must_use]
pub fn template(message: &str) -> String {
    let read = bounded(message);
    // A masked secret was an id before the mask knew it, and the template shall stay the same.
    let text = mask(&read).replace("[masked]", "0");
    let mut tokens = Vec::new();
    let mut at = 0;
    for url in urls(&text) {
        plain(text.get(at..url.start).unwrap_or_default(), &mut tokens);
        tokens.push(Token::Hole(URL));
        at = url.end;
    }
    plain(text.get(at..).unwrap_or_default(), &mut tokens);
    dates(&mut tokens);
    let spelled = spell(&tokens);
    let quoted = values(spelled.trim());
    cut(&quoted)
}

/// A huge message by its start and end.
fn bounded(message: &str) -> String {
    if message.len() <= HEAD + TAIL {
        return message.to_owned();
    }
    let head = message.get(..message.floor_char_boundary(HEAD)).unwrap_or_default();
    let from = message.len() - TAIL;
    let tail = message.get(message.ceil_char_boundary(from)..).unwrap_or_default();
    format!("{head} … {tail}")
}

/// Names of months and days beside numbers are parts of times.
fn dates(tokens: &mut [Token<'_>]) {
    let number = |token: Option<&Token<'_>>| token == Some(&Token::Hole(NUMBER));
    // The nearest token in a direction that is no space, comma or dash.
    let beside = |tokens: &[Token<'_>], at: usize, forward: bool| {
        let gap = |token: &&Token<'_>| matches!(token, Token::Gap(" " | "," | "-" | "/" | "."));
        match forward {
            true => number(tokens.iter().skip(at + 1).take(4).find(|token| !gap(token))),
            false => number(tokens.iter().take(at).rev().take(3).find(|token| !gap(token))),
        }
    };
    for at in 0..tokens.len() {
        let Some(Token::Word(word)) = tokens.get(at) else { continue };
        let month =
            MONTHS.contains(word) && (beside(tokens, at, true) || beside(tokens, at, false));
        let half = matches!(*word, "AM" | "PM" | "am" | "pm") && beside(tokens, at, false);
        if month || half {
            tokens[at] = Token::Hole(NUMBER);
        }
    }
    for at in 0..tokens.len() {
        let Some(Token::Word(word)) = tokens.get(at) else { continue };
        if DAYS.contains(word) && beside(tokens, at, true) {
            tokens[at] = Token::Hole(NUMBER);
        }
    }
}

/// The text again: a row of the same placeholders is one, signs belong to their numbers, and space
/// is one blank.
fn spell(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    // The last placeholder, and where it ends.
    let mut last: Option<(&str, usize)> = None;
    for token in tokens {
        match token {
            Token::Gap(" ") if out.is_empty() || out.ends_with(' ') => {}
            Token::Word(text) | Token::Gap(text) => out.push_str(text),
            Token::Hole(hole) => {
                if let Some((known, end)) = last
                    && known == *hole
                    && joins(out.get(end..).unwrap_or("|"))
                {
                    out.truncate(end);
                    continue;
                }
                let signed = out.ends_with(['-', '+'])
                    && *hole == NUMBER
                    && out.chars().rev().nth(1).is_none_or(|c| " ([=:,{<>".contains(c));
                if signed {
                    out.pop();
                }
                out.push_str(hole);
                last = Some((hole, out.len()));
            }
        }
    }
    out
}

/// Whether what stands between two placeholders makes a list, a time or an id of them.
fn joins(gap: &str) -> bool {
    matches!(gap.trim_matches(' '), "" | ",")
        || matches!(gap, "-" | "_" | "." | ":" | "::" | "+" | "/")
}

/// Puts one placeholder for each quoted value, quotes and all, that holds one and no words apart.
fn values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut last: Option<usize> = None;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let close = match c {
            '"' | '\'' | '`' => Some(c),
            '“' => Some('”'),
            '‘' => Some('’'),
            '«' => Some('»'),
            '「' => Some('」'),
            _ => None,
        };
        // An apostrophe opens nothing.
        let opens = close.filter(|_| !before.is_ascii_alphanumeric());
        let inner = opens.and_then(|close| {
            let body = rest.get(c.len_utf8()..)?;
            let near = body.get(..body.floor_char_boundary(QUOTED.min(body.len())))?;
            let end = near.find(close)?;
            let inner = near.get(..end)?;
            let holds = [NUMBER, PATH, URL, EMAIL].iter().any(|hole| inner.contains(hole));
            (holds && !inner.contains(' ')).then_some(c.len_utf8() + end + close.len_utf8())
        });
        let Some(length) = inner else {
            out.push(c);
            before = c;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        };
        match last {
            Some(end) if joins(out.get(end..).unwrap_or("|")) => out.truncate(end),
            _ => out.push_str(VALUE),
        }
        last = Some(out.len());
        before = c;
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// A long template by its start and end: the last line of a stack trace tells most.
fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= KEPT_HEAD + KEPT_TAIL + 3 {
        return text.to_owned();
    }
    let head: String = text.chars().take(KEPT_HEAD).collect();
    let tail: String = text.chars().skip(length - KEPT_TAIL).collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn what_changes_is_replaced_and_words_are_not() {
        for (message, expected) in [
            ("no answer after 30000 ms", "no answer after <#> ms"),
            ("search_kb: timed out after 30 s", "search_kb: timed out after <#> s"),
            ("user 550e8400-e29b-41d4-a716-446655440000 not found", "user <#> not found"),
            (
                "a 550e8400-e29b-abcd-abcd-446655440000/550e8400-e29b-abcd-abcd-446655440000 b",
                "a <#> b",
            ),
            ("order #D-20014 not found", "order #D-<#> not found"),
            ("订单12345不存在", "订单<#>不存在"),
            ("订单１２３不存在", "订单<#>不存在"),
            ("commit deadbeefcafe is gone", "commit <#> is gone"),
            ("at 2026-03-02T09:00:00Z: lost", "at <#>: lost"),
            ("at 2026-03-02 09:00:00,123: lost", "at <#>: lost"),
            ("at Mon, 02 Mar 2026 09:00:00 GMT", "at <#> GMT"),
            ("open /tmp/a/b.txt: denied", "open <path>: denied"),
            ("File \"/srv/app/x.py\", line 12, in run", "File <value>, line <#>, in run"),
            (r"open C:\Users\me\a.txt: denied", "open <path>: denied"),
            ("see src/agent/loop.py and docs/a.md", "see <path> and <path>"),
            ("GET https://h.example/x?id=1&b=2: failed", "GET <url>: failed"),
            ("see www.example.org/a, or fe80::1ff:4567", "see <url>, or <#>"),
            ("on 12/31/2026 10:05 PM, batch 3/10", "on <#>, batch <#>"),
            ("took 1.5s of 1h30m for $1,234.50 (50%)", "took <#> of <#> for $<#> (<#>%)"),
            ("mail to ann.b@example.org bounced", "mail to <email> bounced"),
            ("field 'city_7' is missing", "field <value> is missing"),
            ("field 'city' is missing", "field 'city' is missing"),
            ("can't read it, don't try", "can't read it, don't try"),
            (
                "{\"message\": \"limit of 10 for org-a1b2\"}",
                "{\"message\": \"limit of <#> for org-<#>\"}",
            ),
            ("status code 404", "status code 404"),
            ("HTTP/1.1 503 Service Unavailable", "HTTP/<#> 503 Service Unavailable"),
            ("[Errno 13] Permission denied: 'x'", "[Errno 13] Permission denied: 'x'"),
            ("returned non-zero exit status 137.", "returned non-zero exit status 137."),
            ("shapes (3, 4) and (3, 4, 5)", "shapes (<#>) and (<#>)"),
            ("value -5 is below 1e-05", "value <#> is below <#>"),
            ("no sha256 of the ec2 image", "no sha256 of the ec2 image"),
            ("read/write and/or n/a", "read/write and/or n/a"),
            ("\u{1b}[31mred\u{1b}[0m  text\n\tnext", "red text next"),
            ("object at 0x7f8a3c", "object at <#>"),
            ("", ""),
            ("...", "..."),
        ] {
            assert_eq!(template(message), expected, "{message:?}");
        }
    }

    #[test]
    fn a_secret_is_an_id_and_is_not_kept() {
        let body = "Ab1".repeat(14);
        let made = template(&format!("key sk-{body} is wrong"));
        assert_eq!(made, "key sk-<#> is wrong");
    }

    #[test]
    fn a_huge_message_is_bounded_and_its_end_counts() {
        let long = |end: &str| template(&format!("{}{end}", "word ".repeat(200_000)));
        assert!(long("alpha").chars().count() < 700);
        assert_ne!(long("alpha"), long("beta"));
        assert_eq!(long("alpha"), template(&format!("{}alpha", "word ".repeat(200_003))));
    }
}

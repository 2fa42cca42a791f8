//! A message without what changes from run to run.
//!
//! Owns which parts of a message are ids, times, numbers, paths, addresses, and which are words.
//! Written by hand rather than as expressions, and with ASCII rules only, so that a template is the
//! same on every platform and with every version of a library. Linear in the length of the message.

use std::ops::Range;

use crate::model::mask;

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

/// Words that have a digit in them and are words still. Short ones such as `h2` and `s3` are not
/// among them: they are as often the second and third of something.
const WORDS: [&str; 25] = [
    "base32", "base64", "e2e", "ec2", "float32", "float64", "http1", "http2", "http3", "i18n",
    "int16", "int32", "int64", "ipv4", "ipv6", "k8s", "md5", "oauth2", "p2p", "sha1", "sha256",
    "sha512", "utf16", "utf8", "x509",
];

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

/// Where addresses such as `https://host/x` are.
fn urls(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(colon) = text.get(from..).and_then(|rest| rest.find("://")).map(|at| from + at) {
        let scheme = bytes[from..colon]
            .iter()
            .rev()
            .take(20)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
            .count();
        let inside = |b: &u8| b.is_ascii_graphic() && !b"\"'`<>|)]}\\".contains(b);
        let rest = bytes[colon + 3..].iter().take_while(|b| inside(b)).count();
        let mut end = colon + 3 + rest;
        while end > colon + 3 && b".,;:!?".contains(&bytes[end - 1]) {
            end -= 1;
        }
        if scheme > 0 {
            found.push(colon - scheme..end);
        }
        from = end;
    }
    found
}

/// What parts chunks wherever it stands.
fn parts(c: char) -> bool {
    c.is_ascii_whitespace()
        || c.is_ascii_control()
        || "\"'`<>|;()[]{}=&!?#*$^".contains(c)
        || matches!(c, '\u{80}'..='\u{A0}' | '“' | '”' | '‘' | '’' | '«' | '»' | '…')
        || matches!(c, '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}')
        || c == '\u{FEFF}'
}

/// Text without addresses: chunks and what parts them.
fn plain<'m>(text: &'m str, tokens: &mut Vec<Token<'m>>) {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut start = 0; // of the chunk
    let mut escape_until = 0; // the end of an ANSI escape
    for (at, c) in text.char_indices() {
        if at < escape_until {
            start = escape_until;
            continue;
        }
        let between_digits = at > 0 && digit(at - 1) && digit(at + 1);
        let opened = text.get(start..at).unwrap_or_default();
        let drive = opened.len() == 1
            && opened.as_bytes()[0].is_ascii_alphabetic()
            && matches!(bytes.get(at + 1), Some(b'\\' | b'/'));
        let windows = is_windows(opened)
            || (opened.is_empty() && bytes.get(at + 1) == Some(&b'\\'))
            || opened == "\\";
        let parting = match c {
            ',' => !between_digits,
            ':' => !between_digits && !drive,
            '\\' => !windows,
            '\u{1b}' => {
                escape_until = at + escape(bytes.get(at..).unwrap_or_default());
                true
            }
            c => parts(c),
        };
        if parting {
            chunk(opened, tokens);
            let end = at + c.len_utf8();
            if c == '\u{1b}' || parts(c) && (c.is_control() || invisible(c) || c == ' ') {
                tokens.push(Token::Gap(" "));
            } else {
                tokens.push(Token::Gap(text.get(at..end).unwrap_or_default()));
            }
            start = end.max(escape_until);
        }
    }
    chunk(text.get(start..).unwrap_or_default(), tokens);
}

/// Characters that show nothing, or turn the reading direction.
fn invisible(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{A0}' | '\u{2000}'..='\u{200F}' | '\u{2028}'..='\u{202F}'
        | '\u{2060}'..='\u{206F}' | '\u{3000}' | '\u{FEFF}')
}

/// The length of an ANSI escape that starts here.
fn escape(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let body = bytes.iter().skip(2).take(32).take_while(|b| (0x20..0x40).contains(*b)).count();
    match bytes.get(2 + body) {
        Some(0x40..0x7f) => body + 3,
        _ => 1,
    }
}

/// Whether a path of Windows has begun: a drive, or the name of a server.
fn is_windows(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(1) == Some(&b':')
        && matches!(bytes.get(2), None | Some(b'\\' | b'/'));
    drive || chunk.starts_with("\\\\")
}

/// One run of characters that nothing parts.
fn chunk<'m>(whole: &'m str, tokens: &mut Vec<Token<'m>>) {
    let chunk = whole.trim_end_matches('.');
    let end = whole.get(chunk.len()..).unwrap_or_default();
    if is_email(chunk) {
        tokens.push(Token::Hole(EMAIL));
    } else if let Some(length) = path(chunk) {
        tokens.push(Token::Hole(PATH));
        words(chunk.get(length..).unwrap_or_default(), tokens);
    } else {
        words(chunk, tokens);
    }
    if !end.is_empty() {
        tokens.push(Token::Gap(end));
    }
}

fn is_email(chunk: &str) -> bool {
    let Some((local, domain)) = chunk.split_once('@') else { return false };
    let plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(&b))
    };
    plain(local) && plain(domain) && domain.contains('.')
}

/// The length of the path that a chunk begins with.
fn path(chunk: &str) -> Option<usize> {
    let rooted = (["/", "~/", "./", "../"].iter().any(|head| chunk.starts_with(head)))
        && chunk.bytes().any(|b| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80);
    let windows = is_windows(chunk) && chunk.len() > 3;
    let ending = |name: &str| {
        name.rsplit_once('.').is_some_and(|(stem, ending)| {
            !stem.is_empty()
                && (1..=6).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric())
                && ending.bytes().any(|b| b.is_ascii_alphabetic())
        })
    };
    // Words of languages that put no space between them may follow the ending of a file.
    let plain = chunk.bytes().position(|b| b >= 0x80).filter(|at| {
        let head = chunk.get(..*at).unwrap_or_default();
        ending(head.rsplit(['/', '\\']).next().unwrap_or_default())
    });
    let length = plain.unwrap_or(chunk.len());
    if rooted || windows {
        return Some(length);
    }
    let head = chunk.get(..length).unwrap_or_default();
    let begins = head.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let letters = head.bytes().any(|b| b.is_ascii_alphabetic());
    let slashes = head.bytes().filter(|b| *b == b'/').count();
    let last = head.rsplit('/').next().unwrap_or_default();
    let relative = begins && head.is_ascii() && letters && slashes > 0;
    (relative && (slashes > 1 || ending(last))).then_some(length)
}

/// Words, numbers and ids of a chunk.
fn words<'m>(chunk: &'m str, tokens: &mut Vec<Token<'m>>) {
    let first = tokens.len();
    let mut at = 0;
    let uuid = uuid(chunk);
    while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(uuid) = uuid.as_ref().filter(|uuid| uuid.start == at) {
            tokens.push(Token::Hole(NUMBER));
            at = uuid.end;
            continue;
        }
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        if length > 0 {
            let piece = rest.get(..length).unwrap_or_default();
            let after = rest.as_bytes().get(length..).unwrap_or_default();
            tokens.push(word(piece, after, first, tokens));
            at += length;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        let end = at + c.len_utf8();
        let wide = matches!(c, '\u{FF10}'..='\u{FF19}' | '\u{660}'..='\u{669}');
        tokens.push(match wide {
            true => Token::Hole(NUMBER),
            false => Token::Gap(chunk.get(at..end).unwrap_or_default()),
        });
        at = end;
    }
}

/// What one run of letters and digits is.
fn word<'m>(piece: &'m str, after: &[u8], first: usize, tokens: &[Token<'m>]) -> Token<'m> {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let here = tokens.get(first..).unwrap_or_default();
    let joined = match here {
        [.., Token::Hole(NUMBER), Token::Gap("-" | "_")] => true,
        _ => false,
    };
    if digits == 0 {
        let hex = piece.len() >= 8 && piece.bytes().all(|b| b.is_ascii_hexdigit());
        let mixed = piece
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        // Ids may have `-` and `_` inside; a word behind a number is written in one case.
        let tail = joined && (mixed || piece.len() == 1);
        return if hex || tail { Token::Hole(NUMBER) } else { Token::Word(piece) };
    }
    if WORDS.contains(&piece.to_ascii_lowercase().as_str()) {
        return Token::Word(piece);
    }
    let alone = match here {
        [] | [Token::Gap("-" | "_" | "/")] => true,
        [.., Token::Word(_), Token::Gap("_" | "-")] => true,
        _ => false,
    } && !matches!(after, [b'.' | b':' | b'-' | b'/' | b',', next, ..] if next.is_ascii_digit());
    if digits == piece.len() && alone && is_code(piece, tokens) {
        return Token::Word(piece);
    }
    Token::Hole(NUMBER)
}

/// Whether a number is the code of a status, an exit or an error, by the words before it.
fn is_code(number: &str, tokens: &[Token<'_>]) -> bool {
    let mut before = [const { String::new() }; 2];
    let mut filled = 0;
    for token in tokens.iter().rev().take(10) {
        match token {
            Token::Word(word) => {
                before[filled] = word.to_ascii_lowercase();
                filled += 1;
                if filled == before.len() {
                    break;
                }
            }
            // `HTTP/1.1 404`: the version stands between.
            Token::Hole(NUMBER) if filled == 0 => {}
            Token::Gap(gap) if gap.len() <= 1 => {}
            _ => break,
        }
    }
    let [last, other] = &before;
    let value: u32 = number.parse().unwrap_or(u32::MAX);
    let status = number.len() == 3 && (100..600).contains(&value);
    match (last.as_str(), other.as_str()) {
        ("http" | "status", "exit") | ("errno" | "signal", _) => value < 1000,
        ("http" | "status" | "statuscode", _) => status,
        ("code", "status" | "http" | "response") => status,
        ("code", "exit" | "return" | "error") => value < 100_000,
        _ => false,
    }
}

/// Where an id of the form 8-4-4-4-12 is.
fn uuid(chunk: &str) -> Option<Range<usize>> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let bytes = chunk.as_bytes();
    let is = |at: usize| {
        let window = bytes.get(at..at + 36)?;
        let sound = window.iter().enumerate().all(|(place, byte)| match DASHES.contains(&place) {
            true => *byte == b'-',
            false => byte.is_ascii_hexdigit(),
        });
        let closed = !bytes.get(at + 36).is_some_and(u8::is_ascii_alphanumeric);
        (sound && closed).then_some(at..at + 36)
    };
    let begins = (0..bytes.len()).filter(|at| *at == 0 || !bytes[at - 1].is_ascii_alphanumeric());
    begins.filter_map(is).next()
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
    matches!(gap.trim_matches(' '), "" | ",") || matches!(gap, "-" | "_" | "." | ":" | "+" | "/")
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

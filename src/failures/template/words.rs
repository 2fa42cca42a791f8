//! Which pieces of a chunk are words, and which are numbers and ids.

use std::ops::Range;

use super::{NUMBER, Token};

/// Words that have a digit in them and are words still. Short ones such as `h2` and `s3` are not
/// among them: they are as often the second and third of something.
const WORDS: [&str; 25] = [
    "base32", "base64", "e2e", "ec2", "float32", "float64", "http1", "http2", "http3", "i18n",
    "int16", "int32", "int64", "ipv4", "ipv6", "k8s", "md5", "oauth2", "p2p", "sha1", "sha256",
    "sha512", "utf16", "utf8", "x509",
];

/// Words, numbers and ids of a chunk.
pub(super) fn words<'m>(chunk: &'m str, tokens: &mut Vec<Token<'m>>) {
    let first = tokens.len();
    let mut at = 0;
    let mut uuid = find_uuid(chunk, 0);
    while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(found) = uuid.take_if(|found| found.start == at) {
            tokens.push(Token::Hole(NUMBER));
            at = found.end;
            uuid = find_uuid(chunk, at);
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
    let joined = matches!(here, [.., Token::Hole(NUMBER), Token::Gap("-" | "_")]);
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
    let opens = matches!(
        here,
        [] | [Token::Gap("-" | "_" | "/")] | [.., Token::Word(_), Token::Gap("_" | "-")]
    );
    let goes_on = matches!(
        after,
        [b'.' | b':' | b'-' | b'/' | b',', next, ..] if next.is_ascii_digit()
    );
    let alone = opens && !goes_on;
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

/// Where the next id of the form 8-4-4-4-12 is.
fn find_uuid(chunk: &str, from: usize) -> Option<Range<usize>> {
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
    let begins =
        (from..bytes.len()).filter(|at| *at == 0 || !bytes[at - 1].is_ascii_alphanumeric());
    begins.filter_map(is).next()
}

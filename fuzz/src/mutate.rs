//! Mutations of JSON text: values are swapped, repeated, left out, or replaced by others, so that
//! inputs get past the parser more often than by changes of single bytes.
//!
//! Owns finding values by their brackets, in text that need not be JSON. Refuses nothing: what is no
//! JSON is left to the fuzzer's own mutations.

/// Values that readers take for something else.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e308",
    "-1e-308",
    "1e999",
    "NaN",
    "Infinity",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1700000000",
    "1700000000000",
    "1700000000000000000",
    "[]",
    "{}",
    "[{}]",
    "[[]]",
    "[null]",
    "\"\"",
    "\"0\"",
    "\"1\"",
    "\"-1\"",
    "\"error\"",
    "\"ok\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"2026-01-01T00:00:00Z\"",
    "\"2026-01-01 00:00:00,5\"",
    "\"9999-12-31T23:59:59.999999999Z\"",
    "\"-009999-01-01T00:00:00Z\"",
    "\"{\\\"a\\\":1}\"",
    "\"\u{E000}NaN\"",
    "\"\u{202e}\u{1b}[31m\"",
];

/// The words of `json.dict`, each a JSON string.
fn words() -> &'static [String] {
    static WORDS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    WORDS.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/json.dict");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let bare =
            |line: &str| Some(line.strip_prefix('"')?.strip_suffix('"')?.replace("\\\"", "\""));
        text.lines().filter_map(bare).collect()
    })
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }
}

/// A part of the text.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
}

/// Whether the first line names what reads the rest, and how long it is then.
fn head(text: &[u8]) -> usize {
    match text.iter().take(40).position(|b| *b == b'\n') {
        Some(end)
            if text[..end]
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(b)) =>
        {
            end + 1
        }
        _ => 0,
    }
}

/// Every value and key of the text, lines among them.
fn parts(text: &[u8]) -> Vec<Part> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::new(), head(text));
    while at < text.len() && found.len() < 20_000 {
        match text[at] {
            b'"' => {
                let start = at;
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                found.push(Part { start, end: (at + 1).min(text.len()) });
            }
            b'{' | b'[' => open.push(at),
            b'}' | b']' => {
                if let Some(start) = open.pop() {
                    found.push(Part { start, end: at + 1 });
                }
            }
            b if b.is_ascii_alphanumeric() || b == b'-' => {
                let start = at;
                while at < text.len()
                    && (text[at].is_ascii_alphanumeric() || b"+-._".contains(&text[at]))
                {
                    at += 1;
                }
                found.push(Part { start, end: at });
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The part with the key before it or the comma behind, so that it can be left out or repeated.
fn member(text: &[u8], part: Part) -> Part {
    let (mut start, mut end) = (part.start, part.end);
    while start > 0 && !matches!(text[start - 1], b',' | b'{' | b'[' | b'\n') {
        start -= 1;
    }
    while end < text.len() && matches!(text[end], b' ' | b'\t') {
        end += 1;
    }
    if text.get(end) == Some(&b',') {
        end += 1;
    }
    Part { start, end }
}

/// The text with one part replaced.
fn replaced(text: &[u8], part: Part, by: &[u8]) -> Vec<u8> {
    [&text[..part.start], by, &text[part.end..]].concat()
}

fn once(text: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let parts = parts(text);
    if parts.is_empty() {
        return None;
    }
    let any = |random: &mut Random| parts[random.below(parts.len())];
    let one = any(random);
    Some(match random.below(12) {
        0..=2 => replaced(text, one, VALUES[random.below(VALUES.len())].as_bytes()),
        3..=4 => {
            let other = any(random);
            replaced(text, one, &text[other.start..other.end])
        }
        5 => replaced(text, member(text, one), b""),
        9 if !words().is_empty() => {
            // Keys are texts too: this renames them.
            let texts: Vec<&Part> = parts.iter().filter(|part| text[part.start] == b'"').collect();
            let part = if texts.is_empty() { one } else { *texts[random.below(texts.len())] };
            replaced(text, part, words()[random.below(words().len())].as_bytes())
        }
        6 => {
            let whole = member(text, one);
            let mut twice = text[whole.start..whole.end].to_vec();
            if !twice.ends_with(b",") && !twice.ends_with(b"\n") {
                twice.push(if twice.starts_with(b"{") && random.below(2) == 0 {
                    b'\n'
                } else {
                    b','
                });
            }
            replaced(text, Part { end: whole.start, ..whole }, &twice)
        }
        7 => {
            let (whole, other) = (member(text, one), any(random));
            replaced(
                text,
                Part { start: other.start, end: other.start },
                &text[whole.start..whole.end],
            )
        }
        8 => {
            // A line again, somewhere else.
            let lines: Vec<&[u8]> = text[head(text)..].split_inclusive(|b| *b == b'\n').collect();
            let (from, to) = (random.below(lines.len()), random.below(lines.len() + 1));
            let mut all = text[..head(text)].to_vec();
            for (nth, line) in lines.iter().enumerate() {
                if nth == to {
                    all.extend_from_slice(lines[from]);
                }
                if nth != from || random.below(2) == 0 {
                    all.extend_from_slice(line);
                }
            }
            all
        }
        _ => {
            let inner = &text[one.start..one.end];
            let wrapped = match random.below(3) {
                0 => [b"[", inner, b"]"].concat(),
                1 => [b"{\"content\":", inner, b"}"].concat(),
                _ => {
                    serde_json::Value::from(String::from_utf8_lossy(inner)).to_string().into_bytes()
                }
            };
            replaced(text, one, &wrapped)
        }
    })
}

/// Mutates `data[..size]` in place; half of the time as JSON.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    default: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut random = Random(u64::from(seed) << 17 | 0x9E37_79B9);
    random.below(2);
    if random.below(3) == 0 {
        return default(data, size, max_size);
    }
    let mut text = data[..size].to_vec();
    for _ in 0..=random.below(3) {
        match once(&text, &mut random) {
            Some(next) if next.len() <= max_size => text = next,
            _ => return default(data, size, max_size),
        }
    }
    let Some(room) = data.get_mut(..text.len()) else { return default(data, size, max_size) };
    room.copy_from_slice(&text);
    text.len()
}

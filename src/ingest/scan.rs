//! Structure of JSON text without parsing it. Works on damaged and cut-off text as far as it goes,
//! and never recurses.

/// A step of the walk over the top level of an object.
enum Top<'o> {
    /// A key, and the offset of the value that follows it.
    Member(&'o [u8], usize),
    /// The object is over, or its text is.
    End,
}

/// Walks the members at the top level of an object.
struct TopLevel<'o> {
    text: &'o [u8],
    at: usize,
}

impl<'o> TopLevel<'o> {
    /// `None` where the text is no object.
    fn of(text: &'o [u8]) -> Option<Self> {
        let lead = text.len() - text.trim_ascii_start().len();
        (text.get(lead) == Some(&b'{')).then_some(Self { text, at: lead + 1 })
    }

    fn next(&mut self) -> Top<'o> {
        loop {
            match self.text.get(self.at) {
                None | Some(b'}') => return Top::End,
                Some(b'"') => {
                    let start = self.at + 1;
                    let Some(length) = string_length(&self.text[start..]) else { return Top::End };
                    let key = &self.text[start..start + length];
                    let mut at = start + length + 1;
                    at += space(&self.text[at.min(self.text.len())..]);
                    if self.text.get(at) != Some(&b':') {
                        return Top::End;
                    }
                    at += 1;
                    at += space(&self.text[at..]);
                    self.at = end_of_value(&self.text[at..])
                        .map_or(self.text.len(), |length| at + length);
                    return Top::Member(key, at);
                }
                Some(_) => self.at += 1,
            }
        }
    }
}

fn space(text: &[u8]) -> usize {
    text.len() - text.trim_ascii_start().len()
}

/// Length of a string's contents up to its closing quote; `None` where it is cut off.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Length of the JSON value at the start of `text`; `None` where it is cut off.
///
/// A closing bracket closes what stands open inside of its pair too, and is passed over where
/// nothing of its kind is open: a stray `}` does not end an array.
#[must_use]
pub fn end_of_value(text: &[u8]) -> Option<usize> {
    let (mut open, mut braces, mut at) = (Vec::new(), 0_usize, 0);
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += 1 + string_length(&text[at + 1..])?;
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            bracket @ (b'{' | b'[') => {
                braces += usize::from(bracket == b'{');
                open.push(bracket);
            }
            b'}' | b']' if open.is_empty() => return Some(at),
            bracket @ (b'}' | b']') => {
                let (opening, pairs) = match bracket {
                    b'}' => (b'{', braces),
                    _ => (b'[', open.len() - braces),
                };
                while pairs > 0
                    && let Some(closed) = open.pop()
                {
                    braces -= usize::from(closed == b'{');
                    if closed == opening {
                        break;
                    }
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            b',' if open.is_empty() => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The keys at the top level of a JSON object; those before the damage if it is damaged or cut off.
#[must_use]
pub fn top_keys(object: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let Some(mut members) = TopLevel::of(object) else { return keys };
    while let Top::Member(key, _) = members.next() {
        keys.push(String::from_utf8_lossy(key).into_owned());
    }
    keys
}

/// Offsets of the arrays that stand under any of `keys` at the top level of an object.
#[must_use]
pub fn find_arrays(object: &[u8], keys: &[&str]) -> Vec<usize> {
    let mut arrays = Vec::new();
    let Some(mut members) = TopLevel::of(object) else { return arrays };
    while let Top::Member(key, value) = members.next() {
        if object.get(value) == Some(&b'[') && keys.iter().any(|known| known.as_bytes() == key) {
            arrays.push(value);
        }
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::{end_of_value, top_keys};

    #[test]
    fn keys_are_those_of_the_top_level_and_survive_a_cut() {
        assert_eq!(
            top_keys(br#" {"a":{"x":1},"b":["y"],"c\"d":"e","f":"cut o"#),
            ["a", "b", "c\\\"d", "f"]
        );
        assert!(top_keys(br#"[{"a":1}]"#).is_empty());
        assert_eq!(top_keys(br#"{"a":1}{"b":2}"#), ["a"]);
    }

    #[test]
    fn a_value_ends_where_its_brackets_close() {
        assert_eq!(end_of_value(br#"{"a":"}"} ,"#), Some(9));
        assert_eq!(end_of_value(b"12,"), Some(2));
        assert_eq!(end_of_value(br#""a\"b"]"#), Some(6));
        assert_eq!(end_of_value(b"[1, 2"), None);
        assert_eq!(end_of_value(b"[1}, 2]"), Some(7), "a stray bracket ends nothing");
        assert_eq!(end_of_value(b"[{[}, 2]"), Some(8), "what stands open inside is closed too");
        assert_eq!(end_of_value(b"{[1}, 2]"), Some(4));
    }

    #[test]
    fn brackets_that_do_not_match_take_no_time_that_grows_with_their_number() {
        let text = ["[".repeat(1 << 20), "}".repeat(1 << 20)].concat();
        let began = std::time::Instant::now();
        assert_eq!(end_of_value(text.as_bytes()), None);
        // Unoptimised it takes milliseconds; quadratic, an hour.
        assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    }
}

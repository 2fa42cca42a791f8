//! Structure of JSON text without parsing it. Works on damaged and cut-off text as far as it goes,
//! and never recurses.

use std::borrow::Cow;

use fearless_simd::{Simd, dispatch};

use super::lanes::{Lanes, WIDTH, closing_quote, level};
use super::split::Span;

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
    /// Start of a value that is not passed over yet: whoever wants no more need not wait for it.
    value: Option<usize>,
    /// Whether a bracket stood where none is due, or closed another kind.
    odd: bool,
}

impl<'o> TopLevel<'o> {
    /// `None` where the text is no object.
    fn of(text: &'o [u8]) -> Option<Self> {
        let lead = text.len() - text.trim_ascii_start().len();
        (text.get(lead) == Some(&b'{')).then_some(Self {
            text,
            at: lead + 1,
            value: None,
            odd: false,
        })
    }

    /// The keys that are left.
    fn keys(&mut self) -> Vec<Cow<'o, str>> {
        let mut keys = Vec::new();
        while let Top::Member(key, _) = self.next() {
            keys.push(String::from_utf8_lossy(key));
        }
        keys
    }

    /// One past the bracket that closes the object, once all members were walked; `None` where there
    /// is none.
    fn end(&self) -> Option<usize> {
        (self.text.get(self.at) == Some(&b'}')).then_some(self.at + 1)
    }

    fn next(&mut self) -> Top<'o> {
        if let Some(value) = self.value.take() {
            let mut open = Open::default();
            let length = end_of(&self.text[value..], &mut open);
            self.at = length.map_or(self.text.len(), |length| value + length);
            self.odd |= open.odd;
        }
        loop {
            match self.text.get(self.at) {
                None | Some(b'}') => return Top::End,
                Some(b'"') => {
                    let start = self.at + 1;
                    let Some(length) = closing_quote(&self.text[start..]) else { return Top::End };
                    let key = &self.text[start..start + length];
                    let mut at = start + length + 1;
                    at += space(&self.text[at.min(self.text.len())..]);
                    if self.text.get(at) != Some(&b':') {
                        return Top::End;
                    }
                    at += 1;
                    at += space(&self.text[at..]);
                    self.value = Some(at);
                    return Top::Member(key, at);
                }
                Some(other) => {
                    self.odd |= matches!(other, b'{' | b'[' | b']');
                    self.at += 1;
                }
            }
        }
    }
}

fn space(text: &[u8]) -> usize {
    text.len() - text.trim_ascii_start().len()
}

/// Length of the JSON value at the start of `text`; `None` where it is cut off.
///
/// A closing bracket closes what stands open inside of its pair too, and is passed over where
/// nothing of its kind is open: a stray `}` does not end an array.
#[must_use]
pub fn end_of_value(text: &[u8]) -> Option<usize> {
    end_of(text, &mut Open::default())
}

fn end_of(text: &[u8], open: &mut Open) -> Option<usize> {
    let mut at = 0;
    if matches!(text.first(), Some(b'{' | b'[')) {
        let (blocks, _) = text.as_chunks::<WIDTH>();
        let lanes = match dispatch!(level(), simd => leap(simd, blocks, open, &mut at)) {
            Leap::Closed(end) => return Some(end),
            Leap::Open(lanes) => lanes,
        };
        if lanes.in_string {
            at += usize::from(lanes.escaped);
            at += 1 + closing_quote(text.get(at..)?)?;
        }
    }
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += 1 + closing_quote(&text[at + 1..])?;
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            b'}' | b']' if open.is_empty() => return Some(at),
            bracket @ (b'{' | b'[' | b'}' | b']') => {
                let closed = open.take(bracket);
                if closed {
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

/// How far [`leap`] came.
enum Leap {
    /// The value ends here.
    Closed(usize),
    /// It goes on, in this state.
    Open(Lanes),
}

/// Passes over whole blocks of a value, as long as nothing in them is odd.
#[inline(always)]
fn leap<S: Simd>(simd: S, blocks: &[[u8; WIDTH]], open: &mut Open, at: &mut usize) -> Leap {
    let mut lanes = Lanes::default();
    for block in blocks {
        let Some((next, opens, closes)) = lanes.pass(simd, block) else { break };
        let mut brackets = opens | closes;
        while brackets != 0 {
            let bracket = brackets.trailing_zeros() as usize;
            if open.take(block[bracket]) {
                return Leap::Closed(*at + bracket + 1);
            }
            brackets &= brackets - 1;
        }
        lanes = next;
        *at += WIDTH;
    }
    Leap::Open(lanes)
}

/// The brackets that stand open.
#[derive(Default)]
struct Open {
    brackets: Vec<u8>,
    braces: usize,
    /// Whether a bracket closed nothing, or more than the last one.
    odd: bool,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.brackets.is_empty()
    }

    /// Takes the next bracket; true where it closes the last one.
    fn take(&mut self, bracket: u8) -> bool {
        let (opening, pairs) = match bracket {
            b'}' => (b'{', self.braces),
            b']' => (b'[', self.brackets.len() - self.braces),
            _ => {
                self.braces += usize::from(bracket == b'{');
                self.brackets.push(bracket);
                return false;
            }
        };
        self.odd |= self.brackets.last() != Some(&opening);
        while pairs > 0
            && let Some(closed) = self.brackets.pop()
        {
            self.braces -= usize::from(closed == b'{');
            if closed == opening {
                break;
            }
        }
        self.brackets.is_empty()
    }
}

/// The keys at the top level of a JSON object; those before the damage if it is damaged or cut off.
#[must_use]
pub fn top_keys(object: &[u8]) -> Vec<String> {
    let keys = TopLevel::of(object).map(|mut members| members.keys()).unwrap_or_default();
    keys.into_iter().map(Cow::into_owned).collect()
}

/// Offsets of the arrays that stand under any of `keys` at the top level of an object.
#[must_use]
pub fn find_arrays(object: &[u8], keys: &[&str]) -> Vec<usize> {
    let mut arrays = Vec::new();
    let Some(mut members) = TopLevel::of(object) else { return arrays };
    while let Top::Member(key, value) = members.next() {
        if is_array(object, keys, key, value) {
            arrays.push(value);
        }
    }
    arrays
}

/// Offset of the first array that stands under any of `keys` at the top level of an object; what
/// comes after it is not looked at.
#[must_use]
pub fn first_array(object: &[u8], keys: &[&str]) -> Option<usize> {
    let mut members = TopLevel::of(object)?;
    loop {
        match members.next() {
            Top::Member(key, value) if is_array(object, keys, key, value) => return Some(value),
            Top::Member(..) => {}
            Top::End => return None,
        }
    }
}

fn is_array(object: &[u8], keys: &[&str], key: &[u8], value: usize) -> bool {
    object.get(value) == Some(&b'[') && keys.iter().any(|known| known.as_bytes() == key)
}

/// The elements of the arrays that stand under a key at the top level of an object, one by one: what
/// comes after the last one that was asked for is not looked at. `None` where the text is no object.
#[must_use]
pub fn elements<'o>(object: &'o [u8], key: &'o str) -> Option<Elements<'o>> {
    Some(Elements { members: TopLevel::of(object)?, key, at: None })
}

/// See [`elements`].
pub struct Elements<'o> {
    members: TopLevel<'o>,
    key: &'o str,
    /// Where the next element of the array at hand is looked for.
    at: Option<usize>,
}

impl Iterator for Elements<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let object = self.members.text;
        loop {
            if let Some(at) = self.at {
                let span = element_at(object, at);
                self.at = span.map(|(_, next)| next);
                if let Some((span, _)) = span {
                    return Some(span);
                }
            }
            match self.members.next() {
                Top::Member(name, value) if is_array(object, &[self.key], name, value) => {
                    self.at = Some(value + 1);
                }
                Top::Member(..) => {}
                Top::End => return None,
            }
        }
    }
}

fn between(byte: &u8) -> bool {
    *byte == b',' || byte.is_ascii_whitespace()
}

/// The element that comes next in an array, and the byte after it; `None` at its end, or that of the text.
fn element_at(object: &[u8], mut at: usize) -> Option<(Span, usize)> {
    at += object[at..].iter().take_while(|byte| between(byte)).count();
    let rest = &object[at..];
    let length = end_of_value(rest).unwrap_or(rest.len());
    let end = at + rest[..length].trim_ascii_end().len();
    (length > 0).then_some((Span { start: at, end, line: 0 }, at + length))
}

/// The keys of the first elements, `most` of them, of the arrays under `key` at the top level of an object.
#[must_use]
pub fn keys_of_elements<'o>(object: &'o [u8], key: &str, most: usize) -> Vec<Vec<Cow<'o, str>>> {
    let mut inner = Vec::new();
    let Some(mut members) = TopLevel::of(object) else { return inner };
    while inner.len() < most
        && let Top::Member(name, value) = members.next()
    {
        if !is_array(object, &[key], name, value) {
            continue;
        }
        let mut at = value + 1;
        while inner.len() < most {
            at += object[at..].iter().take_while(|byte| between(byte)).count();
            // Where nothing is odd, one walk finds the keys of an element and its end.
            if let Some((keys, end)) = balanced_object(object, at) {
                inner.push(keys);
                at = end;
            } else if let Some((span, next)) = element_at(object, at) {
                let element = TopLevel::of(&object[span.start..span.end]);
                inner.push(element.map(|mut members| members.keys()).unwrap_or_default());
                at = next;
            } else {
                break;
            }
        }
    }
    inner
}

/// The keys and the end of the object at this place, if each of its brackets closes one of its kind.
fn balanced_object(text: &[u8], at: usize) -> Option<(Vec<Cow<'_, str>>, usize)> {
    if text.get(at) != Some(&b'{') {
        return None;
    }
    let mut members = TopLevel { text, at: at + 1, value: None, odd: false };
    let keys = members.keys();
    members.end().filter(|_| !members.odd).map(|end| (keys, end))
}

/// The object that a text begins with, passed over once for all that look at it.
#[derive(Debug, Clone)]
pub struct FirstObject {
    /// Its keys; those before the damage if it is damaged or cut off.
    pub keys: Vec<String>,
    /// Where it starts.
    pub start: usize,
    /// One past its last byte; `None` if it is damaged or cut off.
    pub end: Option<usize>,
    /// Whether each of its brackets closes one of its kind, so that counting them finds the same end.
    pub balanced: bool,
}

/// The object that a text begins with, after any space; `None` where it begins with something else.
#[must_use]
pub fn first_object(text: &[u8]) -> Option<FirstObject> {
    let mut members = TopLevel::of(text)?;
    let (start, keys) = (members.at - 1, members.keys());
    let keys = keys.into_iter().map(Cow::into_owned).collect();
    Some(FirstObject { keys, start, end: members.end(), balanced: !members.odd })
}

#[cfg(test)]
mod tests {
    use super::{
        Span, elements, end_of_value, first_array, first_object, keys_of_elements, top_keys,
    };

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
    fn a_long_value_ends_where_the_same_short_one_does() {
        let long = "x\\\"]}\\\\".repeat(40);
        for (text, rest) in [
            (format!(r#"{{"a":"{long}","b":[1,{{"c":"{long}"}}]}}"#), ",\"]"),
            (format!(r#"["{long}"]"#), ""),
            (format!(r#"[{}"{long}"]"#, " ".repeat(59)), "]"),
            (format!(r#"[\ "{long}" \"]"]"#), "]"),
        ] {
            assert_eq!(
                end_of_value(format!("{text}{rest}").as_bytes()),
                Some(text.len()),
                "{text}"
            );
            for cut in 1..text.len() {
                assert_eq!(end_of_value(&text.as_bytes()[..cut]), None, "{cut} of {text}");
            }
        }
    }

    #[test]
    fn the_elements_of_an_array_are_found_without_its_end() {
        let object = br#"{"a":{"steps":[0]},"steps": [ {"b":[1]} , 2 ,"c,]",{"cut"#;
        let text = |span: Span| &object[span.start..span.end];
        let all = [&br#"{"b":[1]}"#[..], b"2", br#""c,]""#, br#"{"cut"#];
        assert!(elements(object, "steps").unwrap().map(text).eq(all));
        assert_eq!(elements(object, "a").unwrap().next(), None);
        assert!(elements(b"[]", "a").is_none());
        assert_eq!(first_array(object, &["steps"]), Some(28));
        let inner = keys_of_elements(object, "steps", 2);
        assert_eq!(inner, [vec!["b"], vec![]]);
        assert_eq!(keys_of_elements(object, "steps", 9).len(), 4);
        let twice = br#"{"steps":[],"b":1,"steps":[7]}"#;
        assert_eq!(elements(twice, "steps").unwrap().count(), 1);
        assert_eq!(keys_of_elements(twice, "steps", 9).len(), 1);
    }

    #[test]
    fn the_first_object_is_told_with_its_end_if_it_has_one() {
        let told = |text: &[u8]| first_object(text).map(|o| (o.keys.join(" "), o.start, o.end));
        assert_eq!(told(br#"  {"a":{"x":1},"b":2} {"c"#), Some(("a b".to_owned(), 2, Some(21))));
        assert_eq!(told(br#"{"a":1,"b":[2"#), Some(("a b".to_owned(), 0, None)));
        assert_eq!(told(br#"{"a" 1}"#), Some((String::new(), 0, None)));
        assert_eq!(told(br#"[{"a":1}]"#), None);
        let balanced = |text: &[u8]| first_object(text).is_some_and(|object| object.balanced);
        assert!(balanced(br#"{"a":[{"b":"]"}],"c":{}} ]"#));
        for text in [r#"{"a":[1}"#, r#"{"a":1]}"#, r#"{"a":{]}}"#, r#"{["a":1}"#] {
            assert!(!balanced(text.as_bytes()), "{text}");
            let long = text.replace("\"a\"", &format!("\"{}\"", "a".repeat(200)));
            assert!(!balanced(long.as_bytes()), "{long}");
        }
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

//! What is read quickly is what serde_json reads, in sound and in broken text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fearless_simd::Level;
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{alone, alone_by, from_slice, from_str};

/// What formats ask for: borrowed and owned texts, numbers, what is there or not, texts of values.
#[derive(Debug, PartialEq, Default, Deserialize)]
#[serde(default)]
struct Wire<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    n: Option<f64>,
    whole: Option<u32>,
    flag: bool,
    list: Vec<Value>,
    pair: (i8, String),
    map: BTreeMap<String, Value>,
    inner: Option<Box<Wire<'a>>>,
}

#[derive(Deserialize)]
struct Texts<'a> {
    #[serde(borrow, default)]
    raw: Option<&'a RawValue>,
    #[serde(default)]
    boxed: Option<Box<RawValue>>,
}

/// Takes anything; the members of an object are passed over one by one, as formats do it.
#[derive(Debug, PartialEq)]
struct Passed;

impl<'de> Deserialize<'de> for Passed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Passed)
    }
}

impl<'de> Visitor<'de> for Passed {
    type Value = Self;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }
}

/// Takes more than it asks for: serde_json gives it what it asks for alone.
#[derive(Debug, PartialEq)]
struct Greedy(u8);

impl<'de> Deserialize<'de> for Greedy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Self(0))
    }
}

impl<'de> Visitor<'de> for Greedy {
    type Value = Self;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a text")
    }
    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(Self(1))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(Self(2))
    }
    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self(3))
    }
}

/// What is read alone is what serde_json reads.
fn same(text: &str) -> Result<(), TestCaseError> {
    let passed = alone::<IgnoredAny>(text).is_some();
    // The instructions that every processor of the kind has.
    let baseline = Level::baseline();
    prop_assert_eq!(passed, alone_by::<IgnoredAny>(baseline, text).is_some(), "{}", text);
    prop_assert_eq!(alone::<Value>(text), alone_by::<Value>(baseline, text));
    if passed {
        prop_assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "passed over: {text}");
    }
    if let Some(value) = alone::<Value>(text) {
        prop_assert_eq!(Some(value), serde_json::from_str::<Value>(text).ok());
    }
    if let Some(raw) = alone::<&RawValue>(text) {
        let theirs = serde_json::from_str::<&RawValue>(text).ok();
        prop_assert_eq!(Some(raw.get()), theirs.map(RawValue::get));
    }
    if alone::<Passed>(text).is_some() {
        prop_assert!(serde_json::from_str::<Passed>(text).is_ok(), "passed by: {text}");
    }
    if let Some(list) = alone::<Vec<Greedy>>(text) {
        prop_assert_eq!(Some(list), serde_json::from_str::<Vec<Greedy>>(text).ok());
    }
    if let Some(small) = alone::<Vec<f32>>(text) {
        prop_assert_eq!(Some(small), serde_json::from_str::<Vec<f32>>(text).ok());
    }
    if let Some(wire) = alone::<Wire<'_>>(text) {
        prop_assert_eq!(Some(wire), serde_json::from_str::<Wire<'_>>(text).ok());
    }
    if let Some(texts) = alone::<Texts<'_>>(text) {
        let theirs = serde_json::from_str::<Texts<'_>>(text);
        prop_assert!(theirs.is_ok(), "{text}");
        if let Ok(theirs) = theirs {
            prop_assert_eq!(texts.raw.map(RawValue::get), theirs.raw.map(RawValue::get));
            let boxed = |raw: Option<Box<RawValue>>| raw.map(|raw| raw.get().to_owned());
            prop_assert_eq!(boxed(texts.boxed), boxed(theirs.boxed));
        }
    }
    Ok(())
}

/// Parts of which texts are made, sound and broken.
const PARTS: [&str; 62] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\t",
    "\r",
    "null",
    "true",
    "false",
    "nul",
    "0",
    "-0",
    "1",
    "01",
    "-",
    "12.5",
    "1.",
    ".5",
    "1e3",
    "1E+2",
    "1e",
    "1e400",
    "18446744073709551616",
    "-9223372036854775809",
    "123456789012345678",
    "1234567890123456789",
    "\"",
    "\"a\"",
    "\"name\":",
    "\"n\":",
    "\"whole\":",
    "\"flag\":",
    "\"list\":",
    "\"pair\":",
    "\"map\":",
    "\"inner\":",
    "\"raw\":",
    "\"boxed\":",
    "\"other\":",
    "\\",
    "\\\\",
    "\\n",
    "\\u00e4",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\u12",
    "\\x",
    "\u{1}",
    "\u{7f}",
    "ä",
    "任务",
    "\"\"",
    "{}",
    "[]",
    "\"some words, \\\"quoted\\\", that are longer than one block of sixty-four bytes\"",
    "\"x\\\\\"",
    "\"n\":1,",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_is_read_is_what_serde_json_reads(
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40),
        lead in 0_usize..70,
    ) {
        let text = parts.concat();
        same(&text)?;
        same(&format!("{}{text}", " ".repeat(lead)))?;
        same(&format!("{{\"other\":{text}}}"))?;
        same(&format!("{{\"raw\":\"{}{text}\"}}", "-".repeat(lead)))?;
    }

    #[test]
    fn whatever_is_damaged_in_sound_text_is_refused_as_there(
        at in any::<prop::sample::Index>(),
        put in prop::sample::select(&PARTS[..]),
        cut in 0_usize..4,
        pad in 0_usize..130,
    ) {
        let text = sound(pad);
        let at = at.index(text.len() + 1);
        let end = (at + cut).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            same(&format!("{}{put}{}", &text[..at], &text[end..]))?;
        }
    }
}

fn sound(pad: usize) -> String {
    let words = "words \\\"and\\\" \\u00e4 \\\\ 任务 ".repeat(3);
    let pad = "-".repeat(pad);
    format!(
        r#" {{"name":"{pad}","n":-0.5e-3,"whole":7,"flag":true,"list":[1,"{words}",[],{{}},null],
        "pair":[-3,"{words}"],"map":{{"{words}":{{"a":[{{"b":[]}}]}},"":12345678901234567890}},
        "inner":{{"name":"{words}","unread":{{"x":["{pad}{words}",false]}}}},"raw":{{"{pad}":[1, 2]}},"boxed":"{words}"}} "#
    )
}

#[test]
fn what_is_sound_is_read_without_help() {
    for pad in 0..130 {
        let text = sound(pad);
        assert!(alone::<Wire<'_>>(&text).is_some(), "{text}");
        assert!(alone::<IgnoredAny>(&text).is_some(), "{text}");
        let texts = alone::<Texts<'_>>(&text).unwrap();
        assert_eq!(texts.raw.unwrap().get(), format!(r#"{{"{}":[1, 2]}}"#, "-".repeat(pad)));
        assert!(texts.boxed.is_some());
        same(&text).unwrap();
    }
}

#[test]
fn what_a_type_does_not_ask_for_and_keys_that_nobody_wants_are_held_to_the_letter() {
    for text in [
        r#"{"\ud800":1}"#,
        r#"{"a":1}"#,
        "[1]",
        "[null]",
        r#"["a"]"#,
        "[3170141183460469231731687303715884105727]",
        "[1.5]",
    ] {
        same(text).unwrap();
    }
    assert!(alone::<Passed>(r#"{"\ud800":1}"#).is_none());
    assert!(alone::<Passed>(r#"{"\u00e4":1}"#).is_some());
    assert_eq!(alone::<Vec<Greedy>>(r#"["a"]"#), Some(vec![Greedy(1)]));
    assert!(alone::<Vec<Greedy>>("[1]").is_none());
}

#[test]
fn what_is_deep_or_odd_is_read_all_the_same() {
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    assert!(alone::<Value>(&deep).is_none());
    assert!(from_str::<Value>(&deep).is_ok());
    let deeper = deep.replace('[', "[[").replace(']', "]]");
    assert!(from_str::<Value>(&deeper).is_err(), "the limit is serde_json's");
    assert!(from_str::<IgnoredAny>(&deeper).is_ok());
    let wrong: Result<Wire<'_>, _> = from_slice(br#"{"whole":-1}"#);
    let told = wrong.unwrap_err().to_string();
    assert!(told.starts_with("invalid value: integer `-1`, expected u32"), "{told}");
    let unread: Result<Wire<'_>, _> = from_slice(b"{\"whole\":1,\"other\":\"\xff\"}");
    assert_eq!(unread.unwrap().whole, Some(1), "what is not read need not be UTF-8");
}

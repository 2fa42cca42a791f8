//! Payloads: bytes in base64 with the name of their encoding.
//!
//! Owns their reading as JSON where the encoding says that they are JSON. Refuses all others, such as
//! encrypted ones, which stay as written.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::ingest::formats::raw::{base64, raw_fields, read, text};
use crate::ingest::quick;
use crate::model::input_hash;

raw_fields! { Payloads { payloads } }
raw_fields! { Payload { metadata, data } }
raw_fields! { Metadata { encoding } }

/// The value of payloads as JSON text: of one payload its value, of several an array; as written
/// where one of them is not readable.
pub(super) fn value(raw: &RawValue) -> Cow<'_, str> {
    let list = raw.get().starts_with('{').then(|| read::<Payloads<'_>>(raw)).flatten();
    let list = list.and_then(|list| list.payloads).and_then(read::<Vec<&RawValue>>);
    let Some(list) = list else { return Cow::Borrowed(raw.get()) };
    let values: Option<Vec<String>> = list.iter().map(|payload| one(payload)).collect();
    match values {
        Some(values) if values.len() == 1 => Cow::Owned(values.concat()),
        Some(values) => Cow::Owned(format!("[{}]", values.join(","))),
        None => Cow::Borrowed(raw.get()),
    }
}

/// By what two inputs are held equal: the data of their payloads, encoded as it stands; the whole value
/// where it holds no payloads.
pub(super) fn hash(raw: &RawValue) -> Option<u64> {
    let list = raw.get().starts_with('{').then(|| read::<Payloads<'_>>(raw)).flatten();
    let Some(list) = list.and_then(|list| list.payloads) else { return input_hash(raw.get()) };
    let list: Vec<Payload<'_>> = read(list)?;
    if let [Payload { data: Some(data), .. }] = list.as_slice() {
        return input_hash(data.get());
    }
    let data: Vec<&str> = list.iter().map(|one| one.data.map_or("null", RawValue::get)).collect();
    (!data.is_empty()).then(|| input_hash(&data.join(","))).flatten()
}

/// The JSON text of the one payload, alone or in a list.
pub(super) fn decoded(raw: &RawValue) -> Option<String> {
    let list = read::<Payloads<'_>>(raw)?.payloads.and_then(read::<Vec<&RawValue>>);
    match list {
        Some(list) => one(list.first()?),
        None => one(raw),
    }
}

fn one(raw: &RawValue) -> Option<String> {
    let payload: Payload<'_> = read(raw)?;
    let encoding = payload.metadata.and_then(read::<Metadata<'_>>)?.encoding.and_then(text)?;
    let encoding = base64(&encoding)?;
    match encoding.as_slice() {
        b"json/plain" | b"json/protobuf" => {
            let json = String::from_utf8(base64(&payload.data.and_then(text)?)?).ok()?;
            quick::from_str::<IgnoredAny>(&json).is_ok().then_some(json)
        }
        b"binary/null" => Some("null".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{base64, value};
    use serde_json::value::RawValue;

    #[test]
    fn json_is_read_and_all_else_stays_as_written() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let plain = r#"{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"MTI="}"#;
        assert_eq!(value(&raw(&format!(r#"{{"payloads":[{plain}]}}"#))), "12");
        assert_eq!(value(&raw(&format!(r#"{{"payloads":[{plain},{plain}]}}"#))), "[12,12]");
        let sealed =
            r#"{"payloads":[{"metadata":{"encoding":"YmluYXJ5L2VuY3J5cHRlZA=="},"data":"MTI="}]}"#;
        assert_eq!(value(&raw(sealed)), sealed);
        assert_eq!(base64("Zm9vYmFy"), Some(b"foobar".to_vec()));
        assert_eq!(base64("Zg"), Some(b"f".to_vec()));
        assert_eq!(base64("?"), None);
    }
}

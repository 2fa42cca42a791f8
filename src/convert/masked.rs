//! The secrets in JSON text, masked string by string so that it stays JSON.

use super::json::{end_of_string, push_text};
use crate::model::mask;

/// One line of JSON with its strings masked. A string under a key is masked together with it: only
/// together do `api_key` and its value look like a secret.
#[must_use]
pub fn mask_json(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    // The key that each open container stands under, and the last key of the current one.
    let mut outer: Vec<String> = Vec::new();
    let mut key = String::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(bytes, at + 1);
                let written = json.get(at..end).unwrap_or_default();
                let is_key = bytes.get(end) == Some(&b':');
                match serde_json::from_str::<String>(written) {
                    Ok(text) if is_key => {
                        push(&mut out, written, &text, mask(&text));
                        key = text;
                    }
                    Ok(text) => {
                        let masked = value(&key, &text);
                        push(&mut out, written, &text, masked);
                    }
                    Err(_) => out.push_str(written),
                }
                at = end.max(at + 1);
                continue;
            }
            b'{' | b'[' => outer.push(key.clone()),
            b'}' | b']' => key = outer.pop().unwrap_or_default(),
            _ => {}
        }
        // Outside of strings sound JSON is ASCII.
        out.push(char::from(*byte));
        at += 1;
    }
    out
}

fn value(key: &str, text: &str) -> String {
    let masked = mask(text);
    if key.is_empty() || masked != text {
        return masked;
    }
    let pair = format!("{key}={text}");
    let masked = mask(&pair);
    match masked.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
        Some(value) => value.to_owned(),
        None if masked == pair => text.to_owned(),
        None => "[masked]".to_owned(),
    }
}

/// The string as it was written where nothing is masked in it.
fn push(out: &mut String, written: &str, text: &str, masked: String) {
    if masked == text { out.push_str(written) } else { push_text(out, &masked) }
}

#[cfg(test)]
mod tests {
    use super::mask_json;

    #[test]
    fn secrets_go_and_the_rest_stays_json_to_the_byte() {
        let body = "Ab1".repeat(14);
        let json = format!(
            r#"{{"a":"\u00e9 x","api_key":"{body}","list":{{"password":["{body}",1]}},"text":"-----BEGIN PRIVATE KEY-----\n{body}","h":"Cookie: s={body}","z":[1,2.5,null,true]}}"#
        );
        let masked = mask_json(&json);
        assert!(!masked.contains(&body), "{masked}");
        assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
        assert!(masked.starts_with(r#"{"a":"\u00e9 x","api_key":"[masked]""#), "{masked}");
        assert!(masked.ends_with(r#""z":[1,2.5,null,true]}"#), "{masked}");
        assert_eq!(mask_json(&masked), masked);
    }
}

//! The hash by which two inputs are held equal.

use xxhash_rust::xxh3::xxh3_64;

/// Hashes JSON text so that insignificant space does not matter and all else does.
///
/// Key order is kept and escapes are not resolved: `METRICS.md` calls two inputs equal when
/// their JSON is the same after insignificant space is dropped. Returns `None` for `null`,
/// which counts as absent. No tree is built, and nothing is
/// copied where there is no space to drop.
#[must_use]
pub fn input_hash(json: &str) -> Option<u64> {
    let bytes = json.trim_ascii().as_bytes();
    if bytes == b"null" {
        return None;
    }
    let mut compact = Vec::new(); // stays empty where there is no space to drop
    let mut start = 0; // the first byte that is not taken over yet
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at + 1),
            b' ' | b'\t' | b'\n' | b'\r' => {
                compact.extend_from_slice(&bytes[start..at]);
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    if start == 0 {
        return Some(xxh3_64(bytes));
    }
    compact.extend_from_slice(&bytes[start..]);
    Some(xxh3_64(&compact))
}

/// The offset after the closing quote of a string whose contents start at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
        if at > bytes.len() {
            break;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::input_hash;

    #[test]
    fn space_outside_strings_does_not_matter_and_inside_it_does() {
        let plain = input_hash(r#"{"a":[1,"x y"],"b":"\" "}"#);
        assert_eq!(plain, input_hash("{ \"a\" : [1,\n\t\"x y\"], \"b\":\"\\\" \"} "));
        assert_ne!(plain, input_hash(r#"{"a":[1,"xy"],"b":"\" "}"#));
        assert_ne!(input_hash(r#"{"a":1,"b":2}"#), input_hash(r#"{"b":2,"a":1}"#));
    }

    #[test]
    fn null_is_absent_and_an_empty_object_is_not() {
        assert_eq!(input_hash(" null "), None);
        assert!(input_hash("{}").is_some());
    }
}

//! Structure of JSON text without parsing it.

/// The keys at the top level of a JSON object; those before the damage if it is damaged or cut off.
#[must_use]
pub fn top_keys(object: &[u8]) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut at) = (0_usize, 0);
    let mut expects_key = false;
    while at < object.len() {
        match object[at] {
            b'"' => {
                let start = at + 1;
                at = start;
                while at < object.len() && object[at] != b'"' {
                    at += if object[at] == b'\\' { 2 } else { 1 };
                }
                if depth == 1 && expects_key && at < object.len() {
                    keys.push(String::from_utf8_lossy(&object[start..at]).into_owned());
                    expects_key = false;
                }
            }
            b'{' | b'[' => {
                depth += 1;
                expects_key = depth == 1 && object[at] == b'{';
                if depth == 1 && object[at] == b'[' {
                    return keys;
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return keys;
                }
            }
            b',' if depth == 1 => expects_key = true,
            _ => {}
        }
        at += 1;
    }
    keys
}

//! The words of the names of tools and steps, however they are written: `send_email`, `sendEmail` and
//! `send-email` are two words each.

/// The words of a name in order, in lower case: split at what is no letter or digit, and where a
/// capital follows a small letter.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut inside, mut small) = (false, false);
    for c in name.chars() {
        if !c.is_alphanumeric() {
            (inside, small) = (false, false);
            continue;
        }
        let new = !inside || (small && c.is_uppercase());
        let word = match found.last_mut() {
            Some(word) if !new => word,
            _ => {
                found.push(String::new());
                let Some(word) = found.last_mut() else { continue };
                word
            }
        };
        word.extend(c.to_lowercase());
        (inside, small) = (true, c.is_lowercase());
    }
    found
}

/// Whether a name begins with one of these words, which are in lower case.
pub(super) fn begins_with(name: &str, known: &[&str]) -> bool {
    // A digit ends a verb: `send2` sends.
    let first = words(name).into_iter().next().unwrap_or_default();
    known.contains(&first.trim_end_matches(|c: char| !c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::{begins_with, words};

    #[test]
    fn words_are_the_same_in_every_manner_of_writing() {
        for name in ["send_big_email", "sendBigEmail", "Send-Big.EMAIL", "__send big email"] {
            assert_eq!(words(name), ["send", "big", "email"], "{name}");
        }
        assert_eq!(words("HTTPSend"), ["httpsend"]);
        assert!(words("-_").is_empty());
        assert!(begins_with("sendEmail", &["send"]) && begins_with("send2", &["send"]));
        assert!(!begins_with("sender", &["send"]) && !begins_with("", &["send"]));
    }
}

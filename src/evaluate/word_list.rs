//! Words that stand many times, kept once and referred to by position.

use std::collections::HashMap;

/// Words in the order of their first use.
pub(crate) struct WordList {
    /// What is kept of a word.
    keep: fn(&str) -> Box<str>,
    words: Vec<Box<str>>,
    known: HashMap<String, u32>,
}

impl WordList {
    /// No word yet; of each that comes, what `keep` says is kept.
    #[must_use]
    pub(crate) fn new(keep: fn(&str) -> Box<str>) -> Self {
        Self { keep, words: Vec::new(), known: HashMap::new() }
    }

    /// The position of a word, from 0.
    pub(crate) fn put(&mut self, word: &str) -> u32 {
        if let Some(at) = self.known.get(word) {
            return *at;
        }
        let at = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.words.push((self.keep)(word));
        self.known.insert(word.to_owned(), at);
        at
    }

    /// What is kept of each.
    #[must_use]
    pub(crate) fn into_words(self) -> Vec<Box<str>> {
        self.words
    }
}

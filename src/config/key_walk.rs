//! The walk over the keys of a file of ours: the eval config, or a field mapping.
//!
//! Owns: keys that stand twice, keys that their place does not have, and lists where `serde` would
//! take one for an object. Refuses: to know the places; each file brings its own.

use std::collections::BTreeSet;

use super::error::ConfigError;
use super::source::{Kind, Node};

/// What is wrong, and how to mend it.
pub(super) type Fault = (String, String);

/// The places of one file.
pub(super) struct KeyWalk<'w> {
    /// The file's text and its name, for messages.
    pub(super) text: &'w str,
    pub(super) file: &'w str,
    /// Whether only an object may stand at a path: `serde` would take a list for one, its elements
    /// in the order of the fields.
    pub(super) is_object: fn(&[String]) -> bool,
    /// What to say of a key that the place at a path does not have; `None` where it may stand.
    pub(super) misplaced: fn(&[String], &str) -> Option<Fault>,
}

impl KeyWalk<'_> {
    /// Refuses the first key, in the order of the file, that may not stand where it does.
    pub(super) fn check(&self, node: &Node) -> Result<(), ConfigError> {
        self.value(node, &mut Vec::new())
    }

    // The depth is bounded where the nodes are read.
    fn value(&self, node: &Node, path: &mut Vec<String>) -> Result<(), ConfigError> {
        match &node.kind {
            Kind::Other => Ok(()),
            Kind::Array(_) if (self.is_object)(path) => Err(ConfigError::of_file(
                self.file,
                "expected an object in { }, found a list",
                "write an object in { }",
            )
            .at(self.text, node.span.clone(), path)),
            Kind::Array(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    path.push(at.to_string());
                    self.value(element, path)?;
                    path.pop();
                }
                Ok(())
            }
            Kind::Object(members) => {
                let mut seen = BTreeSet::new();
                for (key, value) in members {
                    let fault = if seen.insert(key.name.as_str()) {
                        (self.misplaced)(path, &key.name)
                    } else {
                        let twice = format!("the key `{}` stands here twice", key.name);
                        Some((twice, "keep one of the two".to_owned()))
                    };
                    path.push(key.name.clone());
                    if let Some((message, help)) = fault {
                        return Err(ConfigError::of_file(self.file, message, &help).at(
                            self.text,
                            key.span.clone(),
                            path,
                        ));
                    }
                    self.value(value, path)?;
                    path.pop();
                }
                Ok(())
            }
        }
    }
}

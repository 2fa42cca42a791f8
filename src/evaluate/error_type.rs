//! What an error is called (`METRICS.md`, "Errors").
//!
//! Owns the derivation of a type from an error's text. Refuses to map: a team's own taxonomy is
//! `config/`'s.

use std::borrow::Cow;

use crate::model::{ErrorInfo, ErrorOrigin};

/// The type where neither the trace nor its text gives one.
pub(super) const UNSPECIFIED: &str = "unspecified";

/// The type where only a flag on the result says that it failed.
pub(super) const TOOL_ERROR: &str = "tool_error";

/// Endings that make an identifier an error's name.
const ENDINGS: [&str; 8] =
    ["Error", "Exception", "Timeout", "Warning", "Interrupt", "Exit", "Fault", "Failure"];

/// Names of operating system errors that stand at the head of messages.
const ERRNO: [&str; 73] = [
    "E2BIG",
    "EACCES",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "EAFNOSUPPORT",
    "EAGAIN",
    "EAI_AGAIN",
    "EALREADY",
    "EBADF",
    "EBADMSG",
    "EBUSY",
    "ECANCELED",
    "ECHILD",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDEADLK",
    "EDESTADDRREQ",
    "EDQUOT",
    "EEXIST",
    "EFAULT",
    "EFBIG",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EILSEQ",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EIO",
    "EISCONN",
    "EISDIR",
    "ELOOP",
    "EMFILE",
    "EMLINK",
    "EMSGSIZE",
    "ENAMETOOLONG",
    "ENETDOWN",
    "ENETRESET",
    "ENETUNREACH",
    "ENFILE",
    "ENOBUFS",
    "ENODEV",
    "ENOENT",
    "ENOEXEC",
    "ENOLCK",
    "ENOMEM",
    "ENOPROTOOPT",
    "ENOSPC",
    "ENOSYS",
    "ENOTCONN",
    "ENOTDIR",
    "ENOTEMPTY",
    "ENOTFOUND",
    "ENOTSOCK",
    "ENOTSUP",
    "ENXIO",
    "EOPNOTSUPP",
    "EOVERFLOW",
    "EPERM",
    "EPIPE",
    "EPROTO",
    "EPROTONOSUPPORT",
    "EPROTOTYPE",
    "ERANGE",
    "EROFS",
    "ESHUTDOWN",
    "ESOCKETTIMEDOUT",
    "ESPIPE",
    "ESRCH",
    "ESTALE",
    "ETIMEDOUT",
    "ETXTBSY",
    "EXDEV",
];

/// The raw type of a failed attempt's error.
pub(super) fn raw_type<'e>(error: Option<&'e ErrorInfo<'_>>) -> Cow<'e, str> {
    let Some(error) = error else { return Cow::Borrowed(UNSPECIFIED) };
    if let Some(kind) = error.kind.as_deref() {
        return Cow::Borrowed(kind);
    }
    match error.message.as_deref().and_then(head_type) {
        Some(kind) => Cow::Borrowed(kind),
        None if error.origin == ErrorOrigin::Flag => Cow::Borrowed(TOOL_ERROR),
        None => Cow::Borrowed(UNSPECIFIED),
    }
}

/// The type that stands at the head of an error's text.
fn head_type(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if let Some(code) = text.strip_prefix("HTTP ") {
        let digits = code.bytes().take_while(u8::is_ascii_digit).count();
        return (digits == 3).then(|| &text[..8]);
    }
    let length = text
        .bytes()
        .position(|b| !(b.is_ascii_alphanumeric() || b == b'_' || b == b'.'))
        .unwrap_or(text.len());
    let word = text[..length].trim_end_matches('.');
    let rest = &text[word.len()..];
    if ERRNO.contains(&word) {
        return Some(word);
    }
    let identifier = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let closed = rest.is_empty() || rest.starts_with([':', '(']);
    let named = word != "Error" && ENDINGS.iter().any(|ending| word.ends_with(ending));
    (identifier && closed && named).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::head_type;

    #[test]
    fn the_type_stands_at_the_head_or_nowhere() {
        for (text, expected) in [
            ("TimeoutError: no answer", Some("TimeoutError")),
            ("openai.RateLimitError(429)", Some("openai.RateLimitError")),
            ("  ReadTimeout", Some("ReadTimeout")),
            ("Error: user not found", None),
            ("HTTP 429: slow down", Some("HTTP 429")),
            ("HTTP 4290", None),
            ("E2BIG: too much", Some("E2BIG")),
            ("ECONNRESET by peer", Some("ECONNRESET")),
            ("ERROR: x", None),
            ("ValueError in line 3", None),
            ("the TimeoutError: came", None),
            ("KeyboardInterrupt", Some("KeyboardInterrupt")),
            ("错误: 超时", None),
            ("", None),
        ] {
            assert_eq!(head_type(text), expected, "{text}");
        }
    }
}

//! Which SQL is run: one SELECT, with or without WITH, over the tables that are there.
//!
//! Owns the words of refusals. The check is of words alone and comes before any parser: what could
//! reach a file is refused by name, though this build of polars has none of it.

/// The longest statement, in bytes.
const LONGEST: usize = 20_000;

/// The most operators of a statement: a chain of them nests in the plan, whose depth is that of a stack.
const MOST_OPERATORS: usize = 300;

/// Words that nest what stands before or after them.
const OPERATORS: [&str; 13] = [
    "and",
    "or",
    "not",
    "xor",
    "is",
    "in",
    "like",
    "ilike",
    "between",
    "join",
    "union",
    "intersect",
    "except",
];

/// Functions that make long texts of short ones.
const PADDING: [&str; 4] = ["lpad", "rpad", "repeat", "space"];

/// A word of a statement.
struct Word<'s> {
    text: &'s str,
    /// Whether an opening bracket follows it.
    called: bool,
    /// Whether it is in quotes, as a name.
    quoted: bool,
}

/// Says why a statement is not run, as a lowercase fragment.
pub(super) fn refusal(sql: &str) -> Option<String> {
    if sql.len() > LONGEST {
        return Some(format!("the SQL has {} bytes; at most {LONGEST} are read", sql.len()));
    }
    let (words, statements) = match words(sql) {
        Ok(read) => read,
        Err(odd) => {
            return Some(format!(
                "`{odd}` is not run: a text stands in single quotes without a letter in front and without a backslash before a quote, and comments do not nest"
            ));
        }
    };
    let signs = sql.bytes().filter(|byte| b"+-*/%|&^<>=:[!~.".contains(byte)).count();
    let named =
        |word: &&Word<'_>| OPERATORS.iter().any(|name| word.text.eq_ignore_ascii_case(name));
    let operators = signs + words.iter().filter(named).count();
    if operators > MOST_OPERATORS {
        return Some(format!(
            "the SQL has {operators} operators; at most {MOST_OPERATORS} are read: take a list (`IN (...)`) for a chain"
        ));
    }
    let Some(first) = words.first() else { return Some("the SQL is empty".to_owned()) };
    if !["select", "with"].iter().any(|word| first.text.eq_ignore_ascii_case(word)) {
        return Some(format!(
            "only SELECT and WITH are run, which read the tables runs and steps; this begins with `{}`",
            first.text
        ));
    }
    if statements > 1 {
        return Some("only one statement is run; take the text after `;` away".to_owned());
    }
    let reads = |word: &&Word<'_>| {
        let name = word.text.to_ascii_lowercase();
        word.called && ["read_", "scan_"].iter().any(|head| name.starts_with(head))
    };
    if let Some(word) = words.iter().find(reads) {
        return Some(format!(
            "`{}` is not run: SQL reads the tables runs and steps alone, of the files that are named after it",
            word.text
        ));
    }
    let pads = |word: &&Word<'_>| {
        word.called && PADDING.iter().any(|name| word.text.eq_ignore_ascii_case(name))
    };
    if let Some(word) = words.iter().find(pads) {
        return Some(format!(
            "`{}` is not run: it makes texts of any length; take the value without it",
            word.text
        ));
    }
    if let Some(name) = shadowing(&words) {
        return Some(format!(
            "`WITH {name} AS` is not run: the name is that of a table or stands twice; take another"
        ));
    }
    if words.iter().any(|word| !word.quoted && word.text.eq_ignore_ascii_case("into")) {
        return Some("`INTO` is not run: `-o FILE` writes the result".to_owned());
    }
    None
}

/// A name that WITH gives to a query though a table or an earlier one has it: which of the two a
/// statement reads would be a guess.
fn shadowing<'s>(words: &[Word<'s>]) -> Option<&'s str> {
    if !words.first().is_some_and(|word| word.text.eq_ignore_ascii_case("with")) {
        return None;
    }
    let mut given = std::collections::BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1);
        let named = next.is_some_and(|next| next.called && next.text.eq_ignore_ascii_case("as"));
        let name = word.text.to_ascii_lowercase();
        let table = ["runs", "steps"].contains(&name.as_str());
        // With a list of columns the name itself stands before a bracket.
        if (table && (named || word.called)) || (named && !given.insert(name)) {
            return Some(word.text);
        }
    }
    None
}

/// Letters in front of a quote that change how the text in it is read, and so where it ends.
const PREFIXES: [&str; 9] = ["e", "n", "x", "b", "r", "q", "nq", "br", "rb"];

/// The words outside of texts and comments, and how many statements they are in. Gives back what a
/// parser may see end elsewhere than this scan does: it could hide a call.
fn words(sql: &str) -> Result<(Vec<Word<'_>>, usize), &str> {
    let bytes = sql.as_bytes();
    let (mut words, mut statements, mut open) = (Vec::<Word<'_>>::new(), 0, false);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let start = at;
        match byte {
            b'-' if rest.starts_with(b"--") => {
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                at += end.map_or(rest.len(), |end| end + 4);
                let inside = bytes.get(start + 2..at).unwrap_or_default();
                if memchr::memmem::find(inside, b"/*").is_some() {
                    return Err("/*");
                }
                continue;
            }
            // Quotes of dollars, and comments of some dialects.
            b'$' | b'#' => return Err(sql.get(at..=at).unwrap_or_default()),
            b'\'' => {
                let before = sql.get(..at).unwrap_or_default();
                let prefixed = words.last().is_some_and(|word| {
                    let prefix = PREFIXES.iter().any(|known| word.text.eq_ignore_ascii_case(known));
                    !word.quoted && prefix && before.ends_with(word.text)
                });
                let tail = before.len().saturating_sub(2);
                let unicode = before.get(tail..).is_some_and(|two| two.eq_ignore_ascii_case("u&"));
                if prefixed || unicode {
                    let length = if unicode { 2 } else { words.last().map_or(0, |w| w.text.len()) };
                    return Err(sql.get(at.saturating_sub(length)..=at).unwrap_or_default());
                }
                at = closed(bytes, at)?;
            }
            b'"' | b'`' => {
                at = closed(bytes, at)?;
                let text = sql.get(start + 1..at.saturating_sub(1)).unwrap_or_default();
                words.push(Word { text, called: false, quoted: true });
            }
            b';' => {
                open = false;
                at += 1;
                continue;
            }
            b'(' => {
                if let Some(word) = words.last_mut() {
                    word.called = called(sql, word.text, at);
                }
                at += 1;
            }
            byte if byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii() => {
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || !b.is_ascii();
                at += rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len());
                let text = sql.get(start..at).unwrap_or_default();
                words.push(Word { text, called: false, quoted: false });
            }
            byte => {
                at += 1;
                if byte.is_ascii_whitespace() {
                    continue;
                }
            }
        }
        if !open {
            statements += 1;
            open = true;
        }
    }
    Ok((words, statements))
}

/// Whether nothing but space and comments stands between a word and the bracket at `at`. A comment
/// between them is taken for nothing too, so that it hides no call.
fn called(sql: &str, word: &str, at: usize) -> bool {
    let end = (word.as_ptr() as usize + word.len()).saturating_sub(sql.as_ptr() as usize);
    let between = sql.get(end..at).unwrap_or_default();
    !between.contains([',', '=', '<', '>', '+', '*', ')', '(', ';', '\''])
        || between.contains("/*")
        || between.contains("--")
}

/// The offset after the quote that closes the one at `at`; a doubled one is part of the text. Refuses
/// a backslash before a quote, which some parsers take for a part of the text too.
fn closed(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    let Some(quote) = bytes.get(at) else { return Ok(at) };
    let mut next = at + 1;
    while let Some(found) = bytes.get(next..).and_then(|rest| memchr::memchr(*quote, rest)) {
        next += found + 1;
        if next.checked_sub(2).and_then(|before| bytes.get(before)) == Some(&b'\\') {
            return Err(if *quote == b'\'' { r"\'" } else { r#"\""# });
        }
        if bytes.get(next) != Some(quote) {
            return Ok(next);
        }
        next += 1;
    }
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn selects_are_run_and_nothing_else() {
        for sql in [
            "SELECT 1",
            "  select * from runs;",
            "-- a comment; CREATE\n(SELECT 'read_csv(' AS \"into\" FROM steps)",
            "/* x */ WITH a AS (SELECT 1 AS read_me) SELECT read_me + (1) FROM a ; -- end",
            "SELECT 'it''s; DROP' FROM runs",
            r"SELECT 'C:\tmp' AS name, 'e''x' FROM runs WHERE name='x' OR name LIKE'y'",
        ] {
            assert_eq!(refusal(sql), None, "{sql}");
        }
        for (sql, part) in [
            ("", "empty"),
            (" -- nothing", "empty"),
            ("CREATE TABLE x AS SELECT 1", "`CREATE`"),
            ("copy runs to 'x.csv'", "`copy`"),
            ("DROP TABLE runs", "`DROP`"),
            ("SELECT 1; SELECT 2", "one statement"),
            ("WITH runs AS (SELECT 1 AS a) SELECT a FROM runs", "`WITH runs AS`"),
            ("with a as (select 1), \"steps\" as (select 2) select 1", "`WITH steps AS`"),
            ("WITH Runs (a) AS (SELECT 1) SELECT a FROM runs", "`WITH Runs AS`"),
            ("WITH x AS (SELECT 1), x AS (SELECT 2) SELECT 1 FROM x", "`WITH x AS`"),
            ("SELECT * FROM read_csv('/etc/passwd')", "`read_csv`"),
            ("SELECT * FROM \"read_parquet\" ('x')", "`read_parquet`"),
            ("SELECT * FROM READ_IPC/**/('x')", "`READ_IPC`"),
            ("SELECT * INTO 'x' FROM runs", "`INTO`"),
            ("SELECT Lpad(name, 1000000000) FROM runs", "`Lpad`"),
            ("SELECT \"rpad\" ('a', 9)", "any length"),
            (r"SELECT E'a\'' , * FROM read_csv('/etc/passwd')", "`E'`"),
            (r"SELECT 'a\'' , * FROM read_csv('/etc/passwd') --'", r"`\'`"),
            ("SELECT U&'a' FROM runs", "`U&'`"),
            ("SELECT x'00', n'a', b'1'", "`x'`"),
            ("SELECT /* /* */ ' */ * FROM read_csv('x') --'", "`/*`"),
            ("SELECT $a$'$a$, * FROM read_csv('x') --'", "`$`"),
        ] {
            let why = refusal(sql).unwrap_or_default();
            assert!(why.contains(part), "{sql}: {why}");
        }
        let chain = format!("SELECT {}", vec!["1"; 302].join("+"));
        assert!(refusal(&chain).is_some_and(|why| why.contains("301 operators")));
        assert!(refusal(&"SELECT 1 ".repeat(3_000)).is_some_and(|why| why.contains("at most")));
    }
}

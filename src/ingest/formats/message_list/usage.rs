//! Tokens of one request, in the spelling of any of the APIs.
//!
//! Owns which counts are parts of others: OpenAI's and Vercel's input includes what a cache gave,
//! Anthropic's does not, and gateways write Anthropic's names of caches beside OpenAI's whole input;
//! reasoning is a part of the output everywhere. Refuses sums over requests.

use serde_json::value::RawValue;

use crate::ingest::formats::raw::{amount, raw_fields, read};
use crate::model::Tokens;

raw_fields! {
    /// What a request used.
    Usage {
        prompt_tokens, completion_tokens, total_tokens, input_tokens, output_tokens,
        prompt_tokens_details, input_tokens_details,
        cache_read_input_tokens, cache_creation_input_tokens,
        prompt_camel = "promptTokens", completion_camel = "completionTokens", total_camel = "totalTokens",
        input_camel = "inputTokens", output_camel = "outputTokens",
        cached_camel = "cachedInputTokens", input_details_camel = "inputTokenDetails",
    }
}
raw_fields! {
    /// What of the input a cache took part in.
    Details { cached_tokens, cache_read = "cacheReadTokens", cache_write = "cacheWriteTokens" }
}

/// The tokens of a usage object; `None` where it has no count.
pub(in crate::ingest::formats) fn tokens(raw: &RawValue) -> Option<Tokens> {
    let usage: Usage<'_> = read(raw)?;
    let first =
        |spellings: &[Option<&RawValue>]| spellings.iter().find_map(|spelling| amount(*spelling));
    let input =
        first(&[usage.prompt_tokens, usage.input_tokens, usage.prompt_camel, usage.input_camel]);
    let output = first(&[
        usage.completion_tokens,
        usage.output_tokens,
        usage.completion_camel,
        usage.output_camel,
    ]);
    let apart_read = first(&[usage.cache_read_input_tokens]);
    let apart_write = first(&[usage.cache_creation_input_tokens]);
    if input.is_none() && output.is_none() {
        let total = first(&[usage.total_tokens, usage.total_camel])?;
        return Some(Tokens { unsplit: total, ..Tokens::default() });
    }
    // The cache stands beside the input in the form alone in which it is named so.
    let whole = first(&[usage.prompt_tokens]).is_some()
        || (first(&[usage.input_tokens]).is_none()
            && first(&[usage.prompt_camel, usage.input_camel]).is_some());
    let (input, output) = (input.unwrap_or(0.0), output.unwrap_or(0.0));
    if !whole && (apart_read.is_some() || apart_write.is_some()) {
        let (cache_read, cache_write) = (apart_read.unwrap_or(0.0), apart_write.unwrap_or(0.0));
        return Some(Tokens { input, cache_read, cache_write, output, unsplit: 0.0 });
    }
    let details =
        [usage.prompt_tokens_details, usage.input_tokens_details, usage.input_details_camel];
    let details = details.into_iter().flatten().find_map(read::<Details<'_>>).unwrap_or_default();
    let cached =
        [apart_read, first(&[details.cached_tokens, details.cache_read, usage.cached_camel])];
    let cached = cached.into_iter().flatten().fold(0.0, f64::max);
    let written = apart_write.or_else(|| first(&[details.cache_write])).unwrap_or(0.0);
    // A part cannot be larger than its whole.
    let cache_read = cached.min(input);
    let cache_write = written.min(input - cache_read);
    let input = input - cache_read - cache_write;
    Some(Tokens { input, cache_read, cache_write, output, unsplit: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::tokens;
    use serde_json::value::RawValue;

    fn split(usage: &str) -> Option<(f64, f64, f64, f64, f64)> {
        let raw: Box<RawValue> = serde_json::from_str(usage).expect("JSON");
        tokens(&raw).map(|t| (t.input, t.cache_read, t.cache_write, t.output, t.unsplit))
    }

    #[test]
    fn a_gateway_that_names_the_cache_as_anthropic_does_counts_it_once() {
        let gateway = |input: &str| {
            let rest = r#""completion_tokens":20,"cache_read_input_tokens":900}"#;
            split(&format!("{{{input},{rest}"))
        };
        let once = Some((100.0, 900.0, 0.0, 20.0, 0.0));
        assert_eq!(gateway(r#""prompt_tokens":1000"#), once);
        assert_eq!(gateway(r#""promptTokens":1000"#), once);
        assert_eq!(
            gateway(r#""prompt_tokens":1000,"prompt_tokens_details":{"cached_tokens":900}"#),
            once
        );
        let written = gateway(r#""prompt_tokens":1000,"cache_creation_input_tokens":60"#);
        assert_eq!(written, Some((40.0, 900.0, 60.0, 20.0, 0.0)));
        let beside = gateway(r#""input_tokens":1000"#);
        assert_eq!(beside, Some((1000.0, 900.0, 0.0, 20.0, 0.0)));
    }

    #[test]
    fn cached_input_is_taken_off_where_it_is_a_part_and_added_where_it_is_not() {
        let openai = r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,
            "prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":8}}"#;
        assert_eq!(split(openai), Some((36.0, 64.0, 0.0, 20.0, 0.0)));
        let anthropic = r#"{"input_tokens":10,"cache_read_input_tokens":64,"cache_creation_input_tokens":5,"output_tokens":20}"#;
        assert_eq!(split(anthropic), Some((10.0, 64.0, 5.0, 20.0, 0.0)));
        let vercel = r#"{"inputTokens":100,"inputTokenDetails":{"noCacheTokens":90,"cacheReadTokens":8,"cacheWriteTokens":2},"outputTokens":20}"#;
        assert_eq!(split(vercel), Some((90.0, 8.0, 2.0, 20.0, 0.0)));
        assert_eq!(split(r#"{"total_tokens":"7"}"#), Some((0.0, 0.0, 0.0, 0.0, 7.0)));
        assert_eq!(split("{}"), None);
        assert_eq!(split("[]"), None);
    }
}

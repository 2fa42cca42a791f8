//! A Parquet file as JSON lines, which the readers of tables take.
//!
//! Owns how each type of column is written: numbers and truth values as such, null as null, all
//! else as text. Refuses to know what columns mean.

use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{AnyValue, DataFrame, PolarsResult};
use polars_io::prelude::{ParquetReader, SerReader};

/// The rows of a Parquet file, one JSON object a line.
///
/// # Errors
/// Says, as a lowercase fragment, why the file cannot be read.
pub fn json_lines(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    // The decoder of the library panics on some damaged files, and on types it was built without.
    let lines = catch_unwind(AssertUnwindSafe(|| {
        let frame = ParquetReader::new(Cursor::new(bytes)).finish()?;
        write(&frame)
    }));
    match lines {
        Ok(Ok(lines)) => Ok(lines),
        Ok(Err(error)) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(format!("a Parquet file that cannot be read: {first}"))
        }
        Err(_) => Err("a Parquet file that cannot be read: it is damaged, or has a type of column that is not known".to_owned()),
    }
}

fn write(frame: &DataFrame) -> PolarsResult<Vec<u8>> {
    let names: Vec<String> = frame.columns().iter().map(|column| text(column.name())).collect();
    let mut lines = Vec::new();
    for row in 0..frame.height() {
        lines.push(b'{');
        for (nth, (name, column)) in names.iter().zip(frame.columns()).enumerate() {
            if nth > 0 {
                lines.push(b',');
            }
            lines.extend_from_slice(name.as_bytes());
            lines.push(b':');
            cell(&mut lines, &column.get(row)?)?;
        }
        lines.extend_from_slice(b"}\n");
    }
    Ok(lines)
}

fn cell(out: &mut Vec<u8>, value: &AnyValue<'_>) -> std::io::Result<()> {
    match value {
        AnyValue::Null => write!(out, "null"),
        AnyValue::Boolean(flag) => write!(out, "{flag}"),
        AnyValue::String(value) => write!(out, "{}", text(value)),
        AnyValue::StringOwned(value) => write!(out, "{}", text(value)),
        AnyValue::UInt8(number) => write!(out, "{number}"),
        AnyValue::UInt16(number) => write!(out, "{number}"),
        AnyValue::UInt32(number) => write!(out, "{number}"),
        AnyValue::UInt64(number) => write!(out, "{number}"),
        AnyValue::Int8(number) => write!(out, "{number}"),
        AnyValue::Int16(number) => write!(out, "{number}"),
        AnyValue::Int32(number) => write!(out, "{number}"),
        AnyValue::Int64(number) => write!(out, "{number}"),
        // What is not finite is not recorded.
        AnyValue::Float32(number) if !number.is_finite() => write!(out, "null"),
        AnyValue::Float64(number) if !number.is_finite() => write!(out, "null"),
        AnyValue::Float32(number) => write!(out, "{number:?}"),
        AnyValue::Float64(number) => write!(out, "{number:?}"),
        other => write!(out, "{}", text(&other.to_string())),
    }
}

/// Text as a JSON string.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

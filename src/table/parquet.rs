//! A Parquet file as JSON lines, which the readers of tables take.
//!
//! Owns how each type of column is written: numbers and truth values as such, null as null, lists as
//! arrays, all else as text. Refuses to know what columns mean; files that unfold to more than a table
//! of people has, told by their own counts before anything is decoded; and, by their names, columns
//! of types that no cell can be written of.

use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{AnyValue, ArrowDataType, DataFrame, PolarsResult};
use polars_io::prelude::{ParquetReader, SerReader};

use super::quiet::quietly;

/// The most values of a file, those in lists among them: a few kilobytes can stand for billions.
const MOST_CELLS: u64 = 50_000_000;

/// The most bytes of its lines: one long text can be meant by every row.
const MOST_BYTES: usize = 2 << 30;

/// How deep lists in lists are read.
const DEEPEST: usize = 32;

/// The rows of a Parquet file, one JSON object a line.
///
/// # Errors
/// Says, as a lowercase fragment, why the file cannot be read.
pub fn json_lines(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    // The decoder of the library panics on some damaged files.
    let lines = quietly(|| catch_unwind(AssertUnwindSafe(|| read(bytes))));
    lines.unwrap_or_else(|_| Err("it is damaged".to_owned())).map_err(|why| {
        format!("a Parquet file that cannot be read: {why}; export the table as CSV or JSON lines")
    })
}

fn read(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let told = |error: polars::prelude::PolarsError| {
        error.to_string().lines().next().unwrap_or_default().to_owned()
    };
    let mut reader = ParquetReader::new(Cursor::new(bytes));
    let metadata = reader.get_metadata().map_err(told)?.clone();
    let columns = metadata.schema().columns().len().max(1) as u64;
    let groups = metadata.row_groups.iter();
    let rows = groups.clone().map(|group| group.num_rows() as u64).fold(0, u64::saturating_add);
    // Values of lists are more than rows.
    let values = groups
        .flat_map(|group| group.parquet_columns())
        .map(|column| u64::try_from(column.num_values()).unwrap_or(u64::MAX))
        .fold(0, u64::saturating_add);
    let cells = rows.max(metadata.num_rows as u64).saturating_mul(columns).max(values);
    if cells > MOST_CELLS {
        return Err(format!(
            "it has {cells} cells ({rows} rows of {columns} columns), more than the {MOST_CELLS} that are read"
        ));
    }
    let schema = reader.schema().map_err(told)?;
    for field in schema.iter_values() {
        if !is_written(&field.dtype, 0) {
            return Err(format!(
                "the column `{}` has a type that is not read (a struct, map or the like, or lists too deep)",
                field.name
            ));
        }
    }
    let frame = reader.finish().map_err(told)?;
    write(&frame, MOST_BYTES)
        .map_err(told)?
        .ok_or_else(|| format!("its rows have more than {MOST_BYTES} bytes as text"))
}

/// Whether cells of this type can be written.
fn is_written(kind: &ArrowDataType, depth: usize) -> bool {
    match kind {
        ArrowDataType::List(inner)
        | ArrowDataType::LargeList(inner)
        | ArrowDataType::FixedSizeList(inner, _) => {
            depth < DEEPEST && is_written(&inner.dtype, depth + 1)
        }
        ArrowDataType::Struct(_) | ArrowDataType::Map(..) | ArrowDataType::Union(_) => false,
        _ => true,
    }
}

/// The lines; `None` where they are more than `most` bytes.
fn write(frame: &DataFrame, most: usize) -> PolarsResult<Option<Vec<u8>>> {
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
            cell(&mut lines, &column.get(row)?, 0)?;
        }
        lines.extend_from_slice(b"}\n");
        if lines.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(lines))
}

fn cell(out: &mut Vec<u8>, value: &AnyValue<'_>, depth: usize) -> PolarsResult<()> {
    match value {
        AnyValue::Null => write!(out, "null")?,
        AnyValue::Boolean(flag) => write!(out, "{flag}")?,
        AnyValue::String(value) => write!(out, "{}", text(value))?,
        AnyValue::StringOwned(value) => write!(out, "{}", text(value))?,
        AnyValue::UInt8(number) => write!(out, "{number}")?,
        AnyValue::UInt16(number) => write!(out, "{number}")?,
        AnyValue::UInt32(number) => write!(out, "{number}")?,
        AnyValue::UInt64(number) => write!(out, "{number}")?,
        AnyValue::Int8(number) => write!(out, "{number}")?,
        AnyValue::Int16(number) => write!(out, "{number}")?,
        AnyValue::Int32(number) => write!(out, "{number}")?,
        AnyValue::Int64(number) => write!(out, "{number}")?,
        // What is not finite is not recorded.
        AnyValue::Float32(number) if !number.is_finite() => write!(out, "null")?,
        AnyValue::Float64(number) if !number.is_finite() => write!(out, "null")?,
        AnyValue::Float32(number) => write!(out, "{number:?}")?,
        AnyValue::Float64(number) => write!(out, "{number:?}")?,
        // As it is shown, a list would be cut after a few elements.
        AnyValue::List(list) if depth < DEEPEST => {
            out.push(b'[');
            for nth in 0..list.len() {
                if nth > 0 {
                    out.push(b',');
                }
                cell(out, &list.get(nth)?, depth + 1)?;
            }
            out.push(b']');
        }
        AnyValue::Binary(bytes) => write!(out, "{}", text(&String::from_utf8_lossy(bytes)))?,
        AnyValue::BinaryOwned(bytes) => write!(out, "{}", text(&String::from_utf8_lossy(bytes)))?,
        other => write!(out, "{}", text(&other.to_string()))?,
    }
    Ok(())
}

/// Text as a JSON string.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};
    use polars_io::prelude::ParquetWriter;

    use super::{MOST_CELLS, json_lines, write};

    fn file(column: Column) -> PolarsResult<Vec<u8>> {
        let (height, mut bytes) = (column.len(), Vec::new());
        ParquetWriter::new(&mut bytes).finish(&mut DataFrame::new(height, vec![column])?)?;
        Ok(bytes)
    }

    #[test]
    fn long_lists_are_written_whole() -> PolarsResult<()> {
        let long: Vec<i64> = (0..40).collect();
        let lists = [Series::new("".into(), &long), Series::new("".into(), &long[..0])];
        let lines = json_lines(file(Series::new("tests".into(), &lists).into_column())?);
        let written = serde_json::to_string(&long).unwrap_or_default();
        let wanted = format!("{{\"tests\":{written}}}\n{{\"tests\":[]}}\n");
        assert_eq!(lines.map(|lines| String::from_utf8_lossy(&lines).into_owned()), Ok(wanted));
        Ok(())
    }

    #[test]
    fn a_small_file_of_a_billion_rows_is_refused_by_its_counts() -> PolarsResult<()> {
        #[expect(clippy::cast_possible_truncation, reason = "a small number")]
        let rows = MOST_CELLS as usize + 1;
        let bytes = file(Series::new("flag".into(), vec![true; rows]).into_column())?;
        assert!(bytes.len() < 10_000_000, "{}", bytes.len());
        let why = json_lines(bytes).err().unwrap_or_default();
        assert!(why.contains("50000001 cells") && why.contains("CSV"), "{why}");
        Ok(())
    }

    #[test]
    fn one_long_text_in_every_row_does_not_fill_the_memory() -> PolarsResult<()> {
        let frame = DataFrame::new(100, vec![Column::new("t".into(), vec!["x".repeat(100); 100])])?;
        assert_eq!(write(&frame, 1_000)?, None);
        assert!(write(&frame, 100_000)?.is_some());
        Ok(())
    }
}

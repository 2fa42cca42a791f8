//! Whole numbers of SQL that never wrap.
//!
//! polars adds, subtracts and multiplies whole numbers in the width of their type, and what does not
//! fit comes out as another number. Here they are computed in 64 bits, and what may not fit is an
//! error; powers are computed with decimals.

use std::cell::Cell;
use std::sync::Arc;

use polars::error::{PolarsError, PolarsResult};
use polars::prelude::{AggExpr, Column, DataType, DslPlan, Expr, Field, Operator, Schema};

use super::plan::map_expressions;

/// From here on a 64-bit number may not fit: the largest is one below.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// What is said of them.
pub(super) const TOO_LARGE: &str = "a whole number of the SQL does not fit 64 bits; compute with decimals, such as `CAST(x AS DOUBLE)` or `1.0 * x`";

/// The most sums, differences, products and totals of one part of a statement: each nests in the
/// stack of a thread that is not ours.
const MOST: usize = 100;

/// Makes the arithmetic of a node checked; notes the largest number of operators that is too large.
pub(super) fn check(plan: &mut DslPlan, deepest: &Cell<usize>) {
    let found = Cell::new(0);
    map_expressions(plan, &|expr| {
        found.set(found.get() + usize::from(is_arithmetic(&expr)));
        expr
    });
    match found.get() > MOST {
        true => deepest.set(deepest.get().max(found.get())),
        false => map_expressions(plan, &checked),
    }
}

/// Why a statement with so many of them is not run.
pub(super) fn refusal(deepest: usize) -> Option<String> {
    (deepest > MOST).then(|| {
        format!("one part of the SQL has {deepest} sums, differences and products; at most {MOST} are computed")
    })
}

fn is_arithmetic(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr { op, .. } => {
            matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
        }
        Expr::Agg(AggExpr::Sum(_)) => true,
        _ => false,
    }
}

fn checked(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryExpr { left, op, right }
            if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply) =>
        {
            Arc::unwrap_or_clone(left).map_many(
                move |columns| match columns {
                    [left, right] => arithmetic(op, left, right),
                    _ => Err(unfit()),
                },
                &[Arc::unwrap_or_clone(right)],
                move |_: &Schema, fields: &[Field]| match fields {
                    [left, right] => kind(op, left, right),
                    _ => Err(unfit()),
                },
            )
        }
        Expr::Agg(AggExpr::Sum(ref summed)) => {
            let rough =
                Expr::Agg(AggExpr::Sum(Arc::new(Expr::clone(summed).cast(DataType::Float64))));
            expr.map_many(
                |columns| match columns {
                    [sum, rough] => {
                        if sum.dtype().is_integer() {
                            fits(rough)?;
                        }
                        Ok(sum.clone())
                    }
                    _ => Err(unfit()),
                },
                &[rough],
                |_: &Schema, fields: &[Field]| fields.first().cloned().ok_or_else(unfit),
            )
        }
        // The power of whole numbers soon fits nothing.
        Expr::Function { mut input, function } if function.to_string() == "pow" => {
            if let Some(base) = input.first_mut() {
                *base = base.clone().cast(DataType::Float64);
            }
            Expr::Function { input, function }
        }
        other => other,
    }
}

fn unfit() -> PolarsError {
    PolarsError::ComputeError("arithmetic takes two numbers".into())
}

fn apply(op: Operator, left: &Column, right: &Column) -> PolarsResult<Column> {
    match op {
        Operator::Plus => left + right,
        Operator::Minus => left - right,
        _ => left * right,
    }
}

fn arithmetic(op: Operator, left: &Column, right: &Column) -> PolarsResult<Column> {
    if !(left.dtype().is_integer() && right.dtype().is_integer()) {
        return apply(op, left, right);
    }
    let of = |kind: &DataType| apply(op, &left.strict_cast(kind)?, &right.strict_cast(kind)?);
    fits(&of(&DataType::Float64)?)?;
    of(&DataType::Int64)
}

/// Refuses numbers that do not fit 64 bits, given roughly.
fn fits(rough: &Column) -> PolarsResult<()> {
    let rough = rough.cast(&DataType::Float64)?;
    match rough.f64()?.iter().flatten().any(|number| number.abs() >= BEYOND) {
        true => Err(PolarsError::ComputeError(TOO_LARGE.into())),
        false => Ok(()),
    }
}

/// The type that [`arithmetic`] gives.
fn kind(op: Operator, left: &Field, right: &Field) -> PolarsResult<Field> {
    let empty = |field: &Field| -> PolarsResult<Column> {
        let kind = field.dtype().clone().materialize_unknown(true)?;
        Ok(Column::new_empty(field.name().clone(), &kind))
    };
    let made = arithmetic(op, &empty(left)?, &empty(right)?)?;
    Ok(Field::new(left.name().clone(), made.dtype().clone()))
}

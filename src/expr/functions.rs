//! The functions that expressions call: CEL's own, and those that the rewriting puts in their place.
//!
//! Names that start with `@` cannot be written in an expression. They mix integers with floats,
//! read missing members as null, and charge what a loop may cost to a budget.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::common::ast::operators;
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelNull, CelString, CelUInt, DYN_TYPE,
};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError};
use regex::{Regex, RegexBuilder};

type Args<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

pub(super) const ADD: &str = "@add";
pub(super) const SUBTRACT: &str = "@subtract";
pub(super) const MULTIPLY: &str = "@multiply";
pub(super) const DIVIDE: &str = "@divide";
pub(super) const MODULO: &str = "@modulo";
pub(super) const FIELD: &str = "@field";
pub(super) const HAS: &str = "@has";
pub(super) const MEMBER: &str = "@member";
pub(super) const RANGE: &str = "@range";
pub(super) const MATCHES: &str = "@matches";
pub(super) const CHARGE: &str = "@charge";

/// Functions that may be called, with the number of arguments they take: `f(x)`, and `x.f(y)`.
pub(super) const GLOBAL: [(&str, usize); 10] = [
    ("size", 1),
    ("int", 1),
    ("uint", 1),
    ("double", 1),
    ("string", 1),
    ("bool", 1),
    ("bytes", 1),
    ("type", 1),
    ("dyn", 1),
    ("matches", 2),
];
pub(super) const MEMBERS: [(&str, usize); 5] =
    [("size", 0), ("contains", 1), ("startsWith", 1), ("endsWith", 1), ("matches", 1)];

/// Macros, by what they are called with, for messages.
pub(super) const MACROS: [(&str, &str); 7] = [
    ("has", "has(final.field)"),
    ("all", "list.all(x, condition)"),
    ("exists", "list.exists(x, condition)"),
    ("exists_one", "list.exists_one(x, condition)"),
    ("existsOne", "list.existsOne(x, condition)"),
    ("map", "list.map(x, value)"),
    ("filter", "list.filter(x, condition)"),
];

/// Our function for an operator of arithmetic.
pub(super) fn sum_name(operator: &str) -> Option<&'static str> {
    match operator {
        operators::ADD => Some(ADD),
        operators::SUBSTRACT => Some(SUBTRACT),
        operators::MULTIPLY => Some(MULTIPLY),
        operators::DIVIDE => Some(DIVIDE),
        operators::MODULO => Some(MODULO),
        _ => None,
    }
}

/// What one evaluation may cost, in values visited (see [`weight`]).
const BUDGET: u64 = 2_000_000;
/// Compiled patterns that a thread keeps.
const KEPT_PATTERNS: usize = 64;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static PATTERNS: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Starts the budget of one evaluation on this thread.
pub(super) fn start_budget() {
    LEFT.set(BUDGET);
}

/// Charges for walking over some values. Once nothing is left, nothing is weighed either: loops
/// go on after a fault, because a later element may decide.
fn charge(values: &[&dyn Val]) -> Result<(), ExecutionError> {
    let left = LEFT.get();
    let spent = || ExecutionError::function_error("@charge", "the expression visits too much");
    if left == 0 {
        return Err(spent());
    }
    let cost = values.iter().map(|value| weight(*value)).sum::<u64>();
    LEFT.set(left.saturating_sub(cost));
    if cost > left { Err(spent()) } else { Ok(()) }
}

/// CEL's functions and ours.
pub(super) static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    let two: [(&str, cel::common::functions::Function); 9] = [
        (ADD, add),
        (SUBTRACT, subtract),
        (MULTIPLY, multiply),
        (DIVIDE, divide),
        (MODULO, modulo),
        (FIELD, field),
        (HAS, has),
        (MEMBER, member),
        (MATCHES, matches),
    ];
    for (name, function) in two {
        declare(&mut env, name, 2, function);
    }
    declare(&mut env, RANGE, 1, range);
    declare(&mut env, CHARGE, 1, charged);
    Arc::new(env)
});

#[expect(clippy::expect_used, reason = "the names above are distinct; no input reaches this")]
fn declare(env: &mut Env, name: &str, arity: usize, function: cel::common::functions::Function) {
    env.add_overload(name, name, (0..arity).map(|_| DYN_TYPE).collect(), function)
        .expect("names are distinct");
}

fn pair<'b, 'v>(args: Args<'b, 'v>) -> Result<[CowVal<'b, 'v>; 2], ExecutionError> {
    args.try_into().map_err(|args: Args| ExecutionError::invalid_argument_count(2, args.len()))
}

fn mismatch(name: &str, args: &[&dyn Val]) -> ExecutionError {
    let types = args.iter().map(|arg| arg.get_type().name().to_owned()).collect();
    ExecutionError::no_such_overload(name, types)
}

#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    fn of(value: &dyn Val) -> Option<Self> {
        if let Some(int) = value.downcast_ref::<CelInt>() {
            Some(Self::Int(*int.inner()))
        } else if let Some(float) = value.downcast_ref::<CelDouble>() {
            Some(Self::Float(*float.inner()))
        } else {
            let uint = *value.downcast_ref::<CelUInt>()?.inner();
            Some(i64::try_from(uint).map_or(Self::Float(uint as f64), Self::Int))
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Int(int) => int == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    fn value<'b, 'v>(self) -> CowVal<'b, 'v> {
        match self {
            Self::Int(int) => CowVal::owned(CelInt::from(int)),
            Self::Float(float) => CowVal::owned(CelDouble::from(float)),
        }
    }
}

/// Integers stay integers where the result is one that fits; all else is done in floats.
fn arithmetic<'b, 'v>(
    name: &str,
    args: Args<'b, 'v>,
    ints: fn(i64, i64) -> Option<i64>,
    floats: fn(f64, f64) -> f64,
) -> Answer<'b, 'v> {
    let [left, right] = pair(args)?;
    let (Some(a), Some(b)) = (Number::of(&*left), Number::of(&*right)) else {
        return Err(mismatch(name, &[left.as_ref(), right.as_ref()]));
    };
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(result) = ints(a, b)
    {
        return Ok(Number::Int(result).value());
    }
    Ok(Number::Float(floats(a.float(), b.float())).value())
}

fn add<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let [left, right] = pair(args)?;
    if Number::of(&*left).is_some() && Number::of(&*right).is_some() {
        return arithmetic("+", vec![left, right], i64::checked_add, |a, b| a + b);
    }
    charge(&[left.as_ref(), right.as_ref()])?;
    let adder = left.as_adder().ok_or_else(|| mismatch("+", &[left.as_ref(), right.as_ref()]))?;
    Ok(CowVal::Owned(adder.add(right.as_ref())?.into_owned()))
}

/// What it costs to walk over or copy a value: its elements at all levels, and its texts by length.
/// The depth of values is bounded where they are made.
fn weight(value: &dyn Val) -> u64 {
    if let Some(text) = value.downcast_ref::<CelString>() {
        1 + text.inner().len() as u64 / 32
    } else if let Some(list) = value.downcast_ref::<CelList>() {
        list.inner().iter().map(|element| weight(element.as_ref())).sum::<u64>() + 1
    } else if let Some(map) = value.downcast_ref::<CelMap>() {
        let mut sum = 1;
        #[expect(clippy::iter_over_hash_type, reason = "a sum has no order")]
        for (key, member) in map.inner() {
            sum += weight(key.inner()) + weight(member.as_ref());
        }
        sum
    } else {
        1
    }
}

/// Its argument, charged: put around what a function or comparison inside a loop walks over.
fn charged<'b, 'v>(mut args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let value = args.pop().ok_or_else(|| ExecutionError::invalid_argument_count(1, 0))?;
    charge(&[value.as_ref()])?;
    Ok(value)
}

fn subtract<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    arithmetic("-", args, i64::checked_sub, |a, b| a - b)
}

fn multiply<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    arithmetic("*", args, i64::checked_mul, |a, b| a * b)
}

/// The real quotient: JSON does not tell 5500 from 5500.0, so neither may a verdict.
fn divide<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    refuse_zero(&args)?;
    let whole = |a: i64, b: i64| a.checked_div(b).filter(|_| a.checked_rem(b) == Some(0));
    arithmetic("/", args, whole, |a, b| a / b)
}

fn modulo<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    refuse_zero(&args)?;
    arithmetic("%", args, i64::checked_rem, |a, b| a % b)
}

fn refuse_zero(args: &Args<'_, '_>) -> Result<(), ExecutionError> {
    match args.get(1).and_then(|divisor| Number::of(divisor.as_ref())) {
        Some(divisor) if divisor.is_zero() => Err(ExecutionError::DivisionByZero(0.into())),
        _ => Ok(()),
    }
}

/// A member or element by a fixed name or place: null where it is missing, as on recorded paths.
fn field<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let [object, key] = pair(args)?;
    let found = object
        .as_indexer()
        .and_then(|indexer| indexer.get(key.as_ref()).ok())
        .map(|value| CowVal::Owned(value.into_owned()));
    Ok(found.unwrap_or_else(|| CowVal::owned(CelNull)))
}

/// Whether an object has a member; false for whatever is no object.
fn has<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let [object, key] = pair(args)?;
    let is_there = object
        .downcast_ref::<CelMap>()
        .and_then(|_| object.as_container())
        .is_some_and(|members| members.contains(key.as_ref()).unwrap_or(false));
    Ok(CowVal::owned(CelBool::from(is_there)))
}

/// `x in y`, which costs as much as `y` has elements.
fn member<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let [value, whole] = pair(args)?;
    let container =
        whole.as_container().ok_or_else(|| mismatch("in", &[value.as_ref(), whole.as_ref()]))?;
    if whole.downcast_ref::<CelList>().is_some() {
        charge(&[whole.as_ref()])?;
    }
    Ok(CowVal::owned(CelBool::from(container.contains(value.as_ref())?)))
}

/// What a loop walks over: charged before it starts, and a map's keys in order, because the
/// order of a hash map would differ from run to run.
fn range<'b, 'v>(mut args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let Some(whole) = args.pop() else {
        return Err(ExecutionError::invalid_argument_count(1, 0));
    };
    charge(&[whole.as_ref()])?;
    if whole.downcast_ref::<CelMap>().is_none() {
        return Ok(whole);
    }
    let mut keys = Vec::new();
    if let Some(iterable) = whole.as_iterable() {
        let mut items = iterable.iter();
        while let Some(key) = items.next() {
            let order = key
                .downcast_ref::<CelString>()
                .map_or_else(|| format!("{key:?}"), |text| text.inner().to_owned());
            keys.push((order, key.clone_as_boxed()));
        }
    }
    keys.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(CowVal::owned(CelList::from(keys.into_iter().map(|(_, key)| key).collect::<Vec<_>>())))
}

/// Compiles a pattern of `matches`; linear in the text, and bounded in size.
pub(super) fn pattern(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).size_limit(1 << 20).build()
}

fn matches<'b, 'v>(args: Args<'b, 'v>) -> Answer<'b, 'v> {
    let [text, source] = pair(args)?;
    let (Some(text), Some(source)) =
        (text.downcast_ref::<CelString>(), source.downcast_ref::<CelString>())
    else {
        return Err(mismatch("matches", &[text.as_ref(), source.as_ref()]));
    };
    charge(&[text])?;
    PATTERNS.with_borrow_mut(|patterns| {
        if !patterns.contains_key(source.inner()) {
            let compiled = pattern(source.inner())
                .map_err(|error| ExecutionError::function_error("matches", error))?;
            if patterns.len() >= KEPT_PATTERNS {
                patterns.clear();
            }
            patterns.insert(source.inner().to_owned(), compiled);
        }
        let found = patterns.get(source.inner()).is_some_and(|regex| regex.is_match(text.inner()));
        Ok(CowVal::owned(CelBool::from(found)))
    })
}

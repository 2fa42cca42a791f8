//! One program over many attempts or runs: the verdict, remembered where values repeat.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use cel::common::types::{CelBool, CelMap};
use cel::{Context, Value};

use super::field::{Field, Fields};
use super::functions;
use super::observe::{Answer, Observations, State, short};
use super::program::Program;
use super::value::from_field;

/// Verdicts that are kept.
const KEPT: usize = 4096;
/// Bytes of text that a kept verdict may depend on, per field.
const KEPT_TEXT: usize = 64;

/// Evaluates one program and notes what it saw. Each thread has its own; the
/// [`Observations`] of all are merged at the end.
#[derive(Debug)]
pub struct Evaluator {
    program: Arc<Program>,
    kept: HashMap<Box<[u8]>, usize, BuildHasherDefault<KeyHasher>>,
    verdicts: Vec<Kept>,
    key: Vec<u8>,
    seen: Observations,
    /// Paths that were present at least once; the keys around the others are noted.
    present: Vec<bool>,
}

/// A remembered verdict, and how often it was given.
#[derive(Debug)]
struct Kept {
    answer: Answer,
    notes: Vec<(State, Option<String>)>,
    any_missing: bool,
    count: u64,
}

/// Hashes the bytes of a key, which are given in one piece and need no length.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.0);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

impl Evaluator {
    /// An evaluator that has seen nothing.
    #[must_use]
    pub fn new(program: Arc<Program>) -> Self {
        let paths = program.paths().len();
        Self {
            seen: Observations::new(paths),
            present: vec![false; paths],
            program,
            kept: HashMap::default(),
            verdicts: Vec::new(),
            key: Vec::new(),
        }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Whether the expression holds. What cannot be evaluated does not hold, and is noted.
    pub fn eval(&mut self, fields: &dyn Fields) -> bool {
        // Borrowed, not cloned: threads that count references to one program slow each other down.
        let Self { program, kept: known, verdicts, key, seen, present } = self;
        let program: &Program = program;
        let values: Vec<Field<'_>> = program.paths().iter().map(|path| fields.get(path)).collect();
        let keepable = write_key(key, program, &values);
        if keepable && let Some(&at) = known.get(key.as_slice()) {
            let Some(kept) = verdicts.get_mut(at) else { return false };
            kept.count += 1;
            if kept.any_missing {
                note_keys(seen, present, program, &values, fields);
            }
            return matches!(kept.answer, Answer::True);
        }
        let (answer, states) = evaluate(program, &values);
        for (present, state) in present.iter_mut().zip(&states) {
            *present |= *state != State::Missing;
        }
        let any_missing = states.contains(&State::Missing);
        if any_missing {
            note_keys(seen, present, program, &values, fields);
        }
        let holds = matches!(answer, Answer::True);
        let notes = program
            .paths()
            .iter()
            .zip(states)
            .zip(&values)
            .map(|((path, state), value)| (state, path.needs_value.then(|| short(value)).flatten()))
            .collect();
        let kept = Kept { answer, notes, any_missing, count: 1 };
        if keepable && verdicts.len() < KEPT {
            known.insert(key.as_slice().into(), verdicts.len());
            verdicts.push(kept);
        } else {
            seen.note(&kept.answer, &kept.notes, kept.count);
        }
        holds
    }

    /// Notes what stands at the program's paths where the expression decides nothing, so that a path
    /// is not held absent that only such attempts or runs have.
    pub fn observe(&mut self, fields: &dyn Fields) {
        let Self { program, seen, present, .. } = self;
        let values: Vec<Field<'_>> = program.paths().iter().map(|path| fields.get(path)).collect();
        let states: Vec<State> = values.iter().map(State::of).collect();
        for (present, state) in present.iter_mut().zip(&states) {
            *present |= *state != State::Missing;
        }
        if states.contains(&State::Missing) {
            note_keys(seen, present, program, &values, fields);
        }
        seen.note_unused(&states);
    }

    /// What was seen so far; the evaluator starts anew.
    #[must_use]
    pub fn take_observations(&mut self) -> Observations {
        for kept in std::mem::take(&mut self.verdicts) {
            self.seen.note(&kept.answer, &kept.notes, kept.count);
        }
        self.kept.clear();
        self.present.fill(false);
        std::mem::replace(&mut self.seen, Observations::new(self.program.paths().len()))
    }
}

/// Writes what the verdict depends on, each field as a tag and a part of known length, and
/// says whether that is short enough to be kept.
fn write_key(key: &mut Vec<u8>, program: &Program, values: &[Field<'_>]) -> bool {
    key.clear();
    for (path, value) in program.paths().iter().zip(values) {
        match value {
            Field::Missing => key.push(0),
            Field::Null => key.push(1),
            _ if !path.needs_value => key.push(2),
            Field::Bool(flag) => key.extend([3, u8::from(*flag)]),
            Field::Int(int) => {
                key.push(4);
                key.extend(int.to_le_bytes());
            }
            Field::UInt(uint) => {
                key.push(5);
                key.extend(uint.to_le_bytes());
            }
            Field::Float(float) => {
                key.push(6);
                key.extend(float.to_bits().to_le_bytes());
            }
            Field::Text(text) if text.len() <= KEPT_TEXT => {
                key.push(7);
                key.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
                key.extend(text.as_bytes());
            }
            Field::Text(_) | Field::Json(_) => return false,
        }
    }
    true
}

/// Notes the keys around paths that were never there, so that a warning can name the nearest.
/// A path that is there later loses them again, so the order of runs does not matter.
fn note_keys(
    seen: &mut Observations,
    present: &[bool],
    program: &Program,
    values: &[Field<'_>],
    fields: &dyn Fields,
) {
    for (at, (path, value)) in program.paths().iter().zip(values).enumerate() {
        if *value == Field::Missing
            && !path.is_computed()
            && !present.get(at).copied().unwrap_or(true)
        {
            seen.note_keys(at, path, fields);
        }
    }
}

/// Evaluates without memory: the answer, and the state of each path.
fn evaluate(program: &Program, values: &[Field<'_>]) -> (Answer, Vec<State>) {
    let mut context = Context::with_env(Arc::clone(&functions::ENV));
    let mut states = Vec::with_capacity(values.len());
    for ((path, value), (name, presence)) in program.paths().iter().zip(values).zip(&program.names)
    {
        let mut state = State::of(value);
        if path.tested_with_has {
            let is_there = *value != Field::Missing;
            context.add_variable_as_val(presence.clone(), Box::new(CelBool::from(is_there)));
        }
        if path.needs_value || path.compared_with_null {
            // Only whether it is null matters, so a large value is not read at all.
            let stand_in = !path.needs_value && !matches!(value, Field::Missing | Field::Null);
            let bound =
                if stand_in { Some(Box::new(CelMap::default()) as _) } else { from_field(value) };
            match bound {
                Some(bound) => context.add_variable_as_val(name.clone(), bound),
                // Left unbound, which CEL cannot evaluate; it decides only where it matters.
                None => state = State::TooLarge,
            }
        }
        states.push(state);
    }
    functions::start_budget();
    let verdict = Value::resolve_val(&program.tree, &context)
        .ok()
        .and_then(|value| value.downcast_ref::<CelBool>().map(|flag| *flag.inner()));
    let answer = match verdict {
        Some(true) => Answer::True,
        Some(false) => Answer::False,
        None => Answer::Unevaluable(blame(program, &states)),
    };
    (answer, states)
}

/// The paths that may be why an expression could not be evaluated: those used where null does
/// harm, and of them those that are missing, null, NaN or too large, else those of another type
/// than a number, else all.
fn blame(program: &Program, states: &[State]) -> Vec<usize> {
    let strict = || {
        let paths = program.paths().iter().zip(states).enumerate();
        paths.filter(|(_, (path, _))| path.strict).map(|(at, (_, state))| (at, *state))
    };
    let which = |is: fn(State) -> bool| -> Vec<usize> {
        strict().filter(|(_, state)| is(*state)).map(|(at, _)| at).collect()
    };
    let rules: [fn(State) -> bool; 3] = [
        |state| matches!(state, State::Missing | State::Null | State::NotANumber | State::TooLarge),
        |state| state != State::Number,
        |_| true,
    ];
    rules.into_iter().map(which).find(|found| !found.is_empty()).unwrap_or_default()
}

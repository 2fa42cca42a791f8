//! `chart compare A B`: the differences of two sides.

use super::super::against::same_judging;
use super::super::args::{Chart as Args, Compare, Global, PageForm, PageOutput};
use super::super::runs::Loaded;
use super::super::{Failure, Outcome, compare};
use super::{write, written};
use crate::compare::{Comparison, Forest, GateOptions};
use crate::render::Chart;

/// Reads both sides as `compare` does, and draws them.
pub(super) fn draw(args: &Args, global: &Global) -> Outcome {
    let [a, b] = args.inputs.as_slice() else {
        return Err(Failure::usage(
            "chart compare takes two sides: `agenteval chart compare A B -o FILE`",
        ));
    };
    let output = written(args);
    let loaded = Loaded::config(&args.reading, global)?;
    let sides = Compare {
        a: a.clone(),
        b: b.clone(),
        reading: args.reading.clone(),
        against: args.against.clone(),
        output: PageOutput { output: PageForm::Table, files: Vec::new() },
    };
    let before = compare::side(a, &sides, global, &loaded, &output)?;
    let after = compare::side(b, &sides, global, &loaded, &output)?;
    same_judging(&before, &after, &args.against, global)?;
    let options = GateOptions {
        tests: args.against.tests(&loaded.config),
        pooled: (before.pooled(), after.pooled()),
        ..GateOptions::default()
    };
    let comparison = Comparison::of(&before.rows, &after.rows, &loaded.config, &options);
    let forest = Forest::of(&comparison, &loaded.config);
    write(&Chart::Compare(&forest, (&before.name, &after.name)), args)
}

//! Charts of rows: a name at the left, marks on a scale, the numbers at the right.

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

use super::canvas::{Anchor, Canvas};
use super::measure;
use super::style::{Ink, LABEL, LEFT, RIGHT, SMALL};

/// The columns of a chart of rows, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// Width of the names.
    pub(super) names: f64,
    /// Where the scale begins.
    pub(super) from: f64,
    /// Where it ends.
    pub(super) to: f64,
    /// Where the numbers begin.
    pub(super) numbers: f64,
}

/// Between two columns.
const GAP: f64 = 12.0;

impl Columns {
    /// Columns wide enough for names and numbers, as far as a scale is left between them.
    pub(super) fn of<'n>(
        canvas: &Canvas,
        names: impl Iterator<Item = &'n str>,
        numbers: impl Iterator<Item = &'n str>,
    ) -> Self {
        let widest = |width: f64, text: &str| width.max(measure::width(text, LABEL));
        let most = Self::room(canvas);
        let names = names.fold(40.0, widest).min(most);
        let right = numbers.fold(0.0, widest).min(most);
        let from = LEFT + names + GAP;
        let numbers = canvas.width - RIGHT - right;
        Self { names, from, to: (numbers - GAP).max(from + 40.0), numbers }
    }

    /// The most that names, or numbers, may take of the width.
    pub(super) fn room(canvas: &Canvas) -> f64 {
        canvas.width * 0.36
    }

    /// Writes the name of a row whose middle is at `y`.
    pub(super) fn name(&self, canvas: &mut Canvas, y: f64, name: &str) {
        canvas.name((LEFT, y + 4.0), LABEL, Anchor::Start, self.names, name);
    }

    /// Writes the numbers of a row.
    pub(super) fn number(&self, canvas: &mut Canvas, y: f64, text: &str) {
        let room = canvas.width - RIGHT - self.numbers;
        canvas.name((self.numbers, y + 4.0), LABEL, Anchor::Start, room + 0.5, text);
    }
}

/// A scale from left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Scale {
    /// Where a value is; one beyond the ends is at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.from + share * (self.to - self.from)
    }

    /// Round values to label, as far apart as their labels are wide.
    pub(super) fn ticks(&self, label: &dyn Fn(f64) -> String) -> Vec<(f64, String)> {
        let span = RangedCoordf64::from(self.low..self.high);
        for most in [6, 5, 4, 3, 2] {
            let ticks: Vec<(f64, String)> = span
                .key_points(BoldPoints(most))
                .into_iter()
                .filter(|at| (self.low..=self.high).contains(at))
                // Adding up tenths ends a hair beside 0.
                .map(|at| if at.abs() < (self.high - self.low) * 1e-9 { 0.0 } else { at })
                .map(|at| (at, label(at)))
                .collect();
            let wide = ticks.iter().map(|(_, text)| measure::width(text, SMALL) + 10.0);
            if wide.sum::<f64>() <= self.to - self.from + 40.0 || most == 2 {
                return ticks;
            }
        }
        Vec::new()
    }

    /// Draws grid lines from `top` to `bottom` with their labels below.
    pub(super) fn grid(
        &self,
        canvas: &mut Canvas,
        (top, bottom): (f64, f64),
        label: &dyn Fn(f64) -> String,
    ) {
        for (value, text) in self.ticks(label) {
            let x = self.at(value);
            canvas.line((x, top), (x, bottom), 1.0, Ink::Grid);
            canvas.text(x, bottom + 14.0, SMALL, Anchor::Middle, Ink::Muted, &text);
        }
    }
}

/// A value with its interval on a scale: a dot, and a line with ends.
pub(super) fn whisker(
    canvas: &mut Canvas,
    scale: Scale,
    y: f64,
    ends: Option<(f64, f64)>,
    ink: Ink,
) {
    let Some((low, high)) = ends else { return };
    let (left, right) = (scale.at(low), scale.at(high));
    canvas.line((left, y), (right, y), 2.0, ink);
    for (value, x) in [(low, left), (high, right)] {
        if (scale.low..=scale.high).contains(&value) {
            canvas.line((x, y - 4.0), (x, y + 4.0), 1.5, ink);
        } else {
            // It goes on: an arrow instead of an end.
            let back = if value > scale.high { -6.0 } else { 6.0 };
            canvas.area(vec![(x, y), (x + back, y - 4.0), (x + back, y + 4.0)], ink, 1.0);
        }
    }
}

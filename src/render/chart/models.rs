//! What models of the risk say of the share of runs without a failed step, drawn beside what was seen.
//!
//! Beyond the last step that was taken a curve is dashed; where the runs reject a constant risk there
//! is none.

use super::canvas::{Anchor, Canvas, Form};
use super::measure;
use super::rows::Scale;
use super::style::{Ink, LEFT, RIGHT, SMALL};
use crate::horizon::{Accumulation, Verdict, Weibull, survival_to};
use crate::render::percent;

/// Points of a curve, up to the last step and beyond it.
const POINTS: (u32, u32) = (80, 24);
/// Dots that tell the curve of a changing risk from that of a constant one.
const DOTS: u32 = 12;
/// Length of a line in the legend.
const SAMPLE: f64 = 24.0;

/// The models of a survival chart.
pub(super) struct Models {
    /// The last step that was taken.
    last: u32,
    /// The step up to which the chart reaches.
    pub(super) reach: u32,
    constant: Option<f64>,
    changing: Option<Weibull>,
    /// Whether the runs reject a constant risk.
    rejected: bool,
}

impl Models {
    pub(super) fn of(found: &Accumulation) -> Self {
        let last = found.survival.last;
        // Without a failed step a model has nothing to say that the curve does not.
        let risk = found.geometric.filter(|risk| risk.fit.events > 0);
        let constant = risk.map(|risk| risk.fit.hazard);
        let changing = found.weibull.filter(|_| constant.is_some());
        let rejected = matches!(found.constancy.verdict(), Verdict::Falling | Verdict::Rising);
        let more = if constant.is_some() && !rejected { (last / 4).max(1) } else { 0 };
        Self { last, reach: last.saturating_add(more), constant, changing, rejected }
    }

    /// Tells what is what, where there is more than the curve of what was seen.
    pub(super) fn legend(&self, canvas: &mut Canvas) {
        let Some(risk) = self.constant else { return };
        let mut entries = vec![
            (Ink::Main, false, "seen".to_owned()),
            (Ink::Model, false, format!("constant risk, {} a step", percent(risk))),
        ];
        if self.changing.is_some() {
            entries.push((Ink::Text, true, "changing risk".to_owned()));
        }
        canvas.height += 16.0;
        let mut x = LEFT;
        for (ink, dotted, text) in entries {
            let wide = SAMPLE + 6.0 + measure::width(&text, SMALL);
            if x > LEFT && x + wide > canvas.width - RIGHT {
                canvas.height += 16.0;
                x = LEFT;
            }
            let y = canvas.height - 8.0;
            canvas.line((x, y), (x + SAMPLE, y), width(ink), ink);
            if dotted {
                canvas.dot(x + SAMPLE / 2.0, y, 2.0, ink);
            }
            canvas.text(x + SAMPLE + 6.0, y + 4.0, SMALL, Anchor::Start, Ink::Muted, &text);
            x += wide + 18.0;
        }
        canvas.height += 4.0;
    }

    /// Draws the curves.
    pub(super) fn curves(&self, canvas: &mut Canvas, across: Scale, up: Scale) {
        let (last, reach) = (f64::from(self.last), f64::from(self.reach));
        let path = |from: f64, to: f64, points: u32, share: &dyn Fn(f64) -> f64| {
            let at = |at: u32| from + (to - from) * f64::from(at) / f64::from(points);
            (0..=points).map(|n| (across.at(at(n)), up.at(share(at(n))))).collect::<Vec<_>>()
        };
        let mut curve = |ink: Ink, share: &dyn Fn(f64) -> f64| {
            let points = path(0.0, last, POINTS.0, share);
            canvas.put(Form::Line { points, width: width(ink), dashed: false }, ink);
            if reach > last {
                let points = path(last, reach, POINTS.1, share);
                canvas.put(Form::Line { points, width: width(ink), dashed: true }, ink);
            }
        };
        if let Some(risk) = self.constant {
            curve(Ink::Model, &|step| survival_to(risk, step));
        }
        if let Some(fit) = self.changing {
            let share = |step: f64| fit.survival_to(step);
            curve(Ink::Text, &share);
            for (x, y) in path(0.0, reach, DOTS, &share).into_iter().skip(1) {
                canvas.dot(x, y, 2.0, Ink::Text);
            }
        }
    }

    /// Says what is drawn, and what is not.
    pub(super) fn words(&self, canvas: &mut Canvas) {
        let Some(risk) = self.constant else { return };
        canvas.height -= 8.0;
        let last = self.last;
        canvas.note(&match self.rejected {
            true => format!("models end at step {last}, the last that was taken: the runs reject a constant risk"),
            false => format!("dashed: beyond step {last}, the last that was taken"),
        });
        canvas.height += 8.0;
        let share = survival_to(risk, f64::from(last));
        let mut told =
            format!("a constant risk of {} a step leaves {}", percent(risk), percent(share));
        if let Some(fit) = self.changing {
            told.push_str(&format!(
                ", a changing one {}",
                percent(fit.survival_to(f64::from(last)))
            ));
        }
        canvas.word(format!("{told} of runs without a failed step after step {last}"));
    }
}

fn width(ink: Ink) -> f64 {
    if ink == Ink::Text { 1.2 } else { 2.0 }
}

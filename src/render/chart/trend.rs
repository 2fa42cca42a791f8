//! One figure over baselines, with its intervals.

use plotters::element::PathElement;

use super::canvas::{Anchor, Canvas, Mark, safe};
use super::measure;
use super::plot::{Drawn, Frame, dot, stroke};
use super::style::{Ink, SMALL};
use crate::metrics::{Trend, TrendPoint};
use crate::model::{Better, Unit};
use crate::render::count;
use crate::render::figures::{figure_value, interval, plural};

/// Height of the plot.
const HEIGHT: u32 = 240;
/// Points whose values are written beside them.
const MOST_LABELS: usize = 10;

/// Draws a figure over baselines.
pub(super) fn draw(width: u32, trend: &Trend) -> Canvas {
    let info = trend.metric.info();
    let better = match info.better {
        Better::Higher => ", higher is better",
        Better::Lower => ", lower is better",
        Better::Neither => "",
    };
    let points = trend.points.len() as u64;
    let below = format!(
        "{} {} of runs (n: their number), 95% intervals{better}",
        count(points),
        plural(points, "set")
    );
    let mut canvas = Canvas::new(width, &format!("{} over baselines", info.name), &below);
    if trend.points.iter().all(|point| point.figure.value.is_none()) {
        let why = trend.points.iter().find_map(|point| point.figure.reason.as_deref());
        canvas
            .sentence(&format!("No baseline has this figure: {}.", why.unwrap_or("it has no run")));
        return canvas;
    }
    let top = canvas.height;
    if line(&mut canvas, trend).is_err() {
        canvas.height = top;
        canvas.sentence("These values cannot be drawn.");
        return canvas;
    }
    for point in &trend.points {
        canvas.word(told(trend, point));
    }
    canvas
}

fn told(trend: &Trend, point: &TrendPoint) -> String {
    let ends = match point.figure.interval {
        Some(_) => format!(" {}", interval(trend.metric, &point.figure)),
        None => String::new(),
    };
    let time = point.time.as_ref().map(|time| format!(" ({time})")).unwrap_or_default();
    format!(
        "{}{}: {}{ends}, {} {}",
        safe(&point.name),
        safe(&time),
        figure_value(trend.metric, point.figure.value),
        count(point.runs),
        plural(point.runs, "run")
    )
}

fn line(canvas: &mut Canvas, trend: &Trend) -> Drawn {
    let rate = trend.metric.info().unit == Unit::Ratio;
    let seen = |point: &TrendPoint| {
        point.figure.interval.map(|ci| ci.high).into_iter().chain(point.figure.value)
    };
    let high = trend.points.iter().flat_map(seen).filter(|value| value.is_finite());
    let high = match high.fold(0.0, f64::max) {
        _ if rate => 1.0,
        high if high > 0.0 => high * 1.08,
        _ => 1.0,
    };
    let label = |value: f64| figure_value(trend.metric, Some(value));
    let short = |value: f64| match rate {
        true => format!("{:.0}%", value * 100.0),
        false => label(value),
    };
    let wide = [0.25, 0.5, 0.75, 1.0].map(|part| measure::width(&short(high * part), SMALL));
    let labels = wide.into_iter().fold(40.0, f64::max).min(140.0).ceil() as u32 + 12;
    let number = trend.points.len();
    let frame = Frame {
        height: HEIGHT,
        labels,
        across: (0.0, number as f64),
        up: (0.0, high),
        label: &short,
    };
    let x = |at: usize| at as f64 + 0.5;
    let values =
        || trend.points.iter().enumerate().filter_map(|(at, p)| Some((at, p, p.figure.value?)));
    let path: Vec<(f64, f64)> = values().map(|(at, _, value)| (x(at), value)).collect();
    let lines: Vec<Vec<(f64, f64)>> = values()
        .filter_map(|(at, point, _)| {
            let ci = point.figure.interval?;
            Some(vec![(x(at), ci.low), (x(at), ci.high)])
        })
        .collect();
    let marks = values()
        .map(|(_, point, value)| Mark {
            name: safe(&point.name),
            value: Some(value),
            tip: told(trend, point),
        })
        .collect();
    let top = canvas.height;
    frame.draw(
        canvas,
        &|plot| {
            plot.draw_series([PathElement::new(path.clone(), stroke(Ink::Axis, 1))])?;
            let line =
                |line: &Vec<(f64, f64)>| PathElement::new(line.clone(), stroke(Ink::Main, 2));
            plot.draw_series(lines.iter().map(line))?;
            plot.draw_series(path.iter().map(|at| dot(*at, 4, Ink::Main)))?;
            Ok(())
        },
        marks,
    )?;
    let across = frame.across(canvas);
    let up = frame.up(top);
    let room = (across.to - across.from) / number.max(1) as f64;
    if number <= MOST_LABELS {
        for (at, _, value) in values() {
            let text = label(value);
            // Beside the dot, where it does not stand on its interval.
            let (x, wide) = (across.at(x(at)) + 8.0, measure::width(&text, SMALL));
            if wide + 8.0 <= room / 2.0 + 20.0 {
                let y = up.at(value) + 4.0;
                canvas.rect(x - 2.0, y - 11.0, wide + 4.0, 14.0, Ink::Ground);
                canvas.text(x, y, SMALL, Anchor::Start, Ink::Text, &text);
            }
        }
    }
    names(canvas, trend, |at| across.at(x(at)), room);
    Ok(())
}

/// Names and numbers of runs below the axis; where they are many, as many as have room.
fn names(canvas: &mut Canvas, trend: &Trend, x: impl Fn(usize) -> f64, room: f64) {
    let every = (48.0 / room).ceil().max(1.0);
    let most = room * every - 8.0;
    canvas.height += 16.0;
    let y = canvas.height;
    for (at, point) in trend.points.iter().enumerate().step_by(every as usize) {
        canvas.name((x(at), y), SMALL, Anchor::Middle, most, &point.name);
        let day = point.time.as_deref().and_then(|time| time.get(..10)).unwrap_or_default();
        for (row, text) in [(16.0, day), (32.0, &*format!("n={}", count(point.runs)))] {
            let text = measure::fit(&safe(text), SMALL, most);
            canvas.text(x(at), y + row, SMALL, Anchor::Middle, Ink::Muted, &text);
        }
    }
    canvas.height += 48.0;
}

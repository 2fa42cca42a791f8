//! Success by the length of tasks in people's minutes, agent by agent, with the fitted curve and the
//! length at which half of the runs succeed.

use plotters::element::PathElement;

use super::canvas::{Anchor, Canvas, Mark, safe};
use super::measure;
use super::plot::{Drawn, Frame, dot, stroke};
use super::style::{Ink, LABEL, LEFT, RIGHT, SMALL};
use crate::horizon::{AgentHorizon, HorizonAt, LengthBin, TimeHorizon};
use crate::render::figures::plural;
use crate::render::{count, percent, plain};

/// Height of the plot of one agent.
const HEIGHT: u32 = 150;
/// Width of the labels at the left.
const AXIS: u32 = 52;
/// Agents that are drawn.
const AGENTS: usize = 16;
/// A length that is not told any closer, in minutes: a hundred years.
const MOST: f64 = 5.256e7;
/// Points of a curve.
const POINTS: u32 = 80;

/// Draws the agents below each other, on one scale.
pub(super) fn draw(width: u32, agents: &[AgentHorizon]) -> Canvas {
    let title = "Success by length of the task";
    let below = "Length: minutes that people need, on a scale of doublings. Dots: tasks of about one length with 95% intervals, each task the same; curve: logistic fit; ring: half of the runs succeed, with its interval";
    let mut canvas = Canvas::new(width, title, below);
    let timed: Vec<(&AgentHorizon, &TimeHorizon)> =
        agents.iter().filter_map(|agent| Some((agent, agent.horizon.as_ref()?))).collect();
    let Some(span) = span(&timed) else {
        canvas.sentence("No run has a task of known length and an outcome: give `human_minutes` as a column or tag of the run.");
        return canvas;
    };
    for (agent, horizon) in timed.iter().take(AGENTS) {
        head(&mut canvas, agent, horizon);
        let top = canvas.height;
        if plot(&mut canvas, agent, horizon, span).is_err() {
            canvas.height = top;
            canvas.sentence("These tasks cannot be drawn.");
        }
    }
    if timed.len() > AGENTS {
        canvas.note(&format!(
            "and {} more agents; --where \"run.agent == 'NAME'\" draws one",
            count((timed.len() - AGENTS) as u64)
        ));
    }
    let without = agents.len() - timed.len();
    if without > 0 {
        let number = without as u64;
        canvas.note(&format!(
            "not drawn: {} {} without a run that has a length and an outcome",
            count(number),
            plural(number, "agent")
        ));
    }
    canvas.height += 8.0;
    canvas
}

/// Shortest and longest task on the scale of log2, with room at both ends.
fn span(timed: &[(&AgentHorizon, &TimeHorizon)]) -> Option<(f64, f64)> {
    let lengths = || timed.iter().flat_map(|(agent, _)| &agent.bins).map(|bin| bin.minutes.log2());
    let low = lengths().fold(f64::INFINITY, f64::min);
    let high = lengths().fold(f64::NEG_INFINITY, f64::max);
    (low.is_finite() && high.is_finite()).then_some((low - 1.0, high + 1.0))
}

fn name(agent: &AgentHorizon) -> &str {
    if agent.agent.is_empty() { "(no agent recorded)" } else { &agent.agent }
}

fn half(horizon: &TimeHorizon) -> Option<&HorizonAt> {
    horizon.at.iter().find(|at| (at.share - 0.5).abs() < 1e-9)
}

fn head(canvas: &mut Canvas, agent: &AgentHorizon, horizon: &TimeHorizon) {
    let half = half(horizon).map_or_else(String::new, |at| match at.minutes {
        None => "no horizon: success does not fall with length".to_owned(),
        Some(0.0) => "no run passed".to_owned(),
        Some(minutes) => {
            let ends = at.interval.map(|(low, high)| format!(" [{}, {}]", time(low), time(high)));
            let outside = if at.extrapolated { ", outside of the lengths seen" } else { "" };
            format!("half at {}{}{outside}", time(minutes), ends.unwrap_or_default())
        }
    });
    let text = format!(
        "{half}; {} {} of {} {}",
        count(horizon.runs),
        plural(horizon.runs, "run"),
        count(horizon.tasks),
        plural(horizon.tasks, "task")
    );
    canvas.height += 22.0;
    let y = canvas.height - 4.0;
    let room = canvas.width - LEFT - RIGHT;
    let right = measure::width(&text, SMALL);
    canvas.word(format!("{}: {text}", safe(name(agent))));
    if right > room * 0.6 {
        canvas.name((LEFT, y), LABEL, Anchor::Start, room, name(agent));
        for line in measure::lines(&text, SMALL, room) {
            canvas.height += 15.0;
            let y = canvas.height - 4.0;
            canvas.text(LEFT, y, SMALL, Anchor::Start, Ink::Muted, &line);
        }
    } else {
        canvas.name((LEFT, y), LABEL, Anchor::Start, room - right - 12.0, name(agent));
        let x = canvas.width - RIGHT;
        canvas.text(x, y, SMALL, Anchor::End, Ink::Muted, &text);
    }
}

fn plot(
    canvas: &mut Canvas,
    agent: &AgentHorizon,
    horizon: &TimeHorizon,
    span: (f64, f64),
) -> Drawn {
    let label = &|share: f64| format!("{:.0}%", share * 100.0);
    let frame = Frame { height: HEIGHT, labels: AXIS, across: span, up: (0.0, 1.0), label };
    let x = |bin: &LengthBin| bin.minutes.log2();
    let bars: Vec<Vec<(f64, f64)>> = agent
        .bins
        .iter()
        .filter_map(|bin| bin.interval.map(|(low, high)| vec![(x(bin), low), (x(bin), high)]))
        .collect();
    let curve: Option<Vec<(f64, f64)>> = horizon.fit.map(|fit| {
        let at = |n: u32| span.0 + (span.1 - span.0) * f64::from(n) / f64::from(POINTS);
        let share = |x: f64| 1.0 / (1.0 + (-(fit.intercept + fit.slope * x)).exp());
        (0..=POINTS).map(|n| (at(n), share(at(n)))).collect()
    });
    let range: Option<Vec<(f64, f64)>> = half(horizon).and_then(|at| {
        let (low, high) =
            at.interval.filter(|_| at.minutes.is_some_and(|minutes| minutes > 0.0))?;
        let end = |minutes: f64| minutes.max(f64::MIN_POSITIVE).log2().clamp(span.0, span.1);
        Some(vec![(end(low), 0.5), (end(high), 0.5)])
    });
    let marks = agent.bins.iter().map(|bin| Mark {
        name: format!("{} {}", safe(name(agent)), time(bin.minutes)),
        value: Some(bin.share),
        tip: told(bin),
    });
    let top = canvas.height;
    frame.draw(
        canvas,
        &|plot| {
            let line = |ink: Ink, width: u32| {
                move |line: &Vec<(f64, f64)>| PathElement::new(line.clone(), stroke(ink, width))
            };
            plot.draw_series(range.iter().map(line(Ink::Neutral, 3)))?;
            plot.draw_series(curve.iter().map(line(Ink::Model, 2)))?;
            plot.draw_series(bars.iter().map(line(Ink::Main, 1)))?;
            plot.draw_series(agent.bins.iter().map(|bin| dot((x(bin), bin.share), 3, Ink::Main)))?;
            Ok(())
        },
        marks.collect(),
    )?;
    let (across, up) = (frame.across(canvas), frame.up(top));
    if let Some(at) = half(horizon) {
        let seen = |minutes: f64| minutes > 0.0 && (span.0..=span.1).contains(&minutes.log2());
        if let Some(minutes) = at.minutes.filter(|minutes| seen(*minutes)) {
            let (x, y) = (across.at(minutes.log2()), up.at(0.5));
            canvas.dashed((x, y), (x, up.at(0.0)), 1.0, Ink::Text);
            canvas.dot(x, y, 6.0, Ink::Text);
            let tip = format!("half of the runs succeed at {}", time(minutes));
            let ring = canvas.dot(x, y, 4.0, Ink::Ground);
            ring.marks(&format!("{} half", name(agent)), minutes, tip);
        }
    }
    for bin in &agent.bins {
        canvas.word(told(bin));
    }
    let y = canvas.height + 12.0;
    canvas.text(LEFT, y, SMALL, Anchor::Start, Ink::Muted, "length");
    let mut free = LEFT + measure::width("length", SMALL) + 8.0;
    for minutes in ticks(span) {
        let (text, at) = (time(minutes), across.at(minutes.log2()));
        let half = measure::width(&text, SMALL) / 2.0;
        if at - half < free || at + half > canvas.width - 4.0 {
            continue;
        }
        free = at + half + 12.0;
        canvas.text(at, y, SMALL, Anchor::Middle, Ink::Muted, &text);
    }
    canvas.height += 22.0;
    Ok(())
}

/// Lengths to label within a span: those that people speak of, else its ends.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    const SPOKEN: [f64; 20] = [
        1.0 / 60.0,
        1.0 / 30.0,
        1.0 / 15.0,
        2.0 / 15.0,
        0.25,
        0.5,
        1.0,
        2.0,
        4.0,
        8.0,
        15.0,
        30.0,
        60.0,
        120.0,
        240.0,
        480.0,
        960.0,
        2880.0,
        7200.0,
        20_160.0,
    ];
    // Every second one has room where the span is wide.
    let every = if high - low > 8.0 { 2 } else { 1 };
    let within: Vec<f64> =
        SPOKEN.into_iter().step_by(every).filter(|at| (low..=high).contains(&at.log2())).collect();
    if within.len() > 1 { within } else { vec![(low + 1.0).exp2(), (high - 1.0).exp2()] }
}

/// A length in minutes as people say it.
fn time(minutes: f64) -> String {
    let short = |number: f64| {
        let text = plain(number, if number < 10.0 { 1 } else { 0 });
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    };
    match minutes {
        m if !m.is_finite() => "no end".to_owned(),
        m if m < 1.0 / 600.0 => "<0.1 s".to_owned(),
        m if m < 1.0 => format!("{} s", short(m * 60.0)),
        m if m < 60.0 => format!("{} min", short(m)),
        m if m < 2880.0 => format!("{} h", short(m / 60.0)),
        m if m < MOST => format!("{} d", short(m / 1440.0)),
        _ => "over 100 years".to_owned(),
    }
}

fn told(bin: &LengthBin) -> String {
    let ends = bin.interval.map(|(low, high)| format!(" [{}, {}]", percent(low), percent(high)));
    format!(
        "tasks of about {}: {}{}, {} {} of {} {}",
        time(bin.minutes),
        percent(bin.share),
        ends.unwrap_or_default(),
        count(bin.runs),
        plural(bin.runs, "run"),
        count(bin.tasks),
        plural(bin.tasks, "task")
    )
}

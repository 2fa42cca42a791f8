//! The link to `plotters`: coordinates, grids and series are its own, through its SVG backend, and
//! what it draws is taken over shape by shape, so that it has our colours, themes and tips.
//!
//! A colour of `plotters` says what it is for, since all colours of the light theme are different.
//! Texts stay ours: only we know how wide they are.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::{Circle, PathElement};
use plotters::prelude::{
    Cartesian2d, ChartBuilder, ChartContext, DrawingArea, IntoDrawingArea, SVGBackend,
};
use plotters::style::{Color, RGBAColor, RGBColor, ShapeStyle};
use resvg::usvg::roxmltree::{Document, Node};

use super::canvas::{Anchor, Canvas, Form, Mark};
use super::rows::Scale;
use super::style::{Ink, LEFT, RIGHT, SMALL};

/// An error of `plotters`; a drawing into a text has none of its own.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Where it draws.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A chart with two axes of numbers.
pub(super) type Plot<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The frame of a plot: what its axes span, and how it is labelled at the left.
pub(super) struct Frame<'f> {
    /// Height with the frame.
    pub(super) height: u32,
    /// Width of the labels at the left.
    pub(super) labels: u32,
    /// From left to right.
    pub(super) across: (f64, f64),
    /// From below to above.
    pub(super) up: (f64, f64),
    /// What a value at the left reads like.
    pub(super) label: &'f dyn Fn(f64) -> String,
}

/// `plotters` draws on whole pixels: on this many for one of ours, so that curves stay smooth.
const FINE: u32 = 8;
/// Kept free above the highest value.
const ABOVE: u32 = 10;
/// Kept free below the axis.
const BELOW: u32 = 4;

impl Frame<'_> {
    /// Where a value of the lower axis is.
    pub(super) fn across(&self, canvas: &Canvas) -> Scale {
        let from = LEFT + f64::from(self.labels);
        Scale { low: self.across.0, high: self.across.1, from, to: canvas.width - RIGHT }
    }

    /// Where a value of the left axis is, in a frame that begins at `top`.
    pub(super) fn up(&self, top: f64) -> Scale {
        let (from, to) = (top + f64::from(self.height - BELOW), top + f64::from(ABOVE));
        Scale { low: self.up.0, high: self.up.1, from, to }
    }

    /// Draws the grid and what `series` adds, at the lower end of the canvas. Each dot that is
    /// drawn gets the next of `marks`.
    pub(super) fn draw(
        &self,
        canvas: &mut Canvas,
        series: &dyn Fn(&mut Plot<'_, '_>) -> Drawn,
        marks: Vec<Mark>,
    ) -> Drawn {
        let mut drawn = String::new();
        let up = Scale { low: self.up.0, high: self.up.1, from: 0.0, to: 200.0 };
        let ticks = up.ticks(self.label);
        {
            let size = (canvas.width as u32 * FINE, self.height * FINE);
            let area: Area<'_> = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
            let mut plot = ChartBuilder::on(&area)
                .margin_top(ABOVE * FINE)
                .margin_bottom(BELOW * FINE)
                .margin_right(RIGHT as u32 * FINE)
                .margin_left((LEFT as u32 + self.labels) * FINE)
                .build_cartesian_2d(self.across.0..self.across.1, self.up.0..self.up.1)?;
            for (value, _) in &ticks {
                let line = [(self.across.0, *value), (self.across.1, *value)];
                let ink = if *value == self.up.0 { Ink::Axis } else { Ink::Grid };
                plot.draw_series([PathElement::new(line, stroke(ink, 1))])?;
            }
            series(&mut plot)?;
            area.present()?;
        }
        let top = canvas.height;
        take(&drawn, canvas, top, marks)?;
        let at = self.up(top);
        for (value, text) in ticks {
            let x = LEFT + f64::from(self.labels) - 8.0;
            canvas.text(x, at.at(value) + 4.0, SMALL, Anchor::End, Ink::Muted, &text);
        }
        canvas.height += f64::from(self.height);
        Ok(())
    }
}

/// The colour of a use, for `plotters`.
pub(super) fn colour(ink: Ink) -> RGBColor {
    let [(r, g, b), _] = ink.rgb();
    RGBColor(r, g, b)
}

/// The same, seen through.
pub(super) fn faint(ink: Ink, share: f64) -> RGBAColor {
    colour(ink).mix(share)
}

/// A dot of a radius.
pub(super) fn dot(at: (f64, f64), radius: u32, ink: Ink) -> Circle<(f64, f64), u32> {
    Circle::new(at, radius * FINE, filled(ink))
}

fn filled(ink: Ink) -> ShapeStyle {
    colour(ink).filled()
}

/// A line of a width.
pub(super) fn stroke(ink: Ink, width: u32) -> ShapeStyle {
    colour(ink).stroke_width(width * FINE)
}

/// Takes over what was drawn.
fn take(drawn: &str, canvas: &mut Canvas, top: f64, marks: Vec<Mark>) -> Drawn {
    let document = Document::parse(drawn)?;
    let mut marks = marks.into_iter();
    for node in document.root_element().children().filter(Node::is_element) {
        let number = |name: &str| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
        let at = |name: &str| number(name).unwrap_or(0.0) / f64::from(FINE);
        let ink = |name: &str| {
            let hex = node.attribute(name)?.to_ascii_lowercase();
            Ink::ALL.into_iter().find(|ink| ink.hex(false) == hex)
        };
        let all = || points(node.attribute("points").unwrap_or_default(), top);
        let (form, ink) = match node.tag_name().name() {
            "line" => {
                let points = vec![(at("x1"), at("y1") + top), (at("x2"), at("y2") + top)];
                (Form::Line { points, width: at("stroke-width"), dashed: false }, ink("stroke"))
            }
            "polyline" => {
                let width = at("stroke-width");
                (Form::Line { points: all(), width, dashed: false }, ink("stroke"))
            }
            "polygon" => (Form::Area { points: all() }, ink("fill")),
            "rect" => {
                let (x, y) = (at("x"), at("y") + top);
                (Form::Rect { x, y, width: at("width"), height: at("height") }, ink("fill"))
            }
            "circle" => {
                (Form::Dot { x: at("cx"), y: at("cy") + top, radius: at("r") }, ink("fill"))
            }
            _ => continue,
        };
        let opacity = number("opacity").unwrap_or(1.0);
        let dot = matches!(form, Form::Dot { .. });
        let shape = canvas.put(form, ink.unwrap_or(Ink::Text));
        shape.opacity = opacity;
        if dot {
            shape.mark = marks.next();
        }
    }
    Ok(())
}

fn points(text: &str, top: f64) -> Vec<(f64, f64)> {
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',')?;
        let fine = f64::from(FINE);
        Some((x.parse::<f64>().ok()? / fine, y.parse::<f64>().ok()? / fine + top))
    };
    text.split_whitespace().filter_map(pair).collect()
}

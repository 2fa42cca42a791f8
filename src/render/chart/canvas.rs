//! What a chart is drawn on: shapes with a use for a colour, and texts of a known width.
//!
//! Texts are made safe here, once: secrets masked, controls and marks of direction shown as
//! escapes, what XML has no place for replaced.

use super::measure;
use super::style::{Ink, LABEL, LEFT, RIGHT, SMALL, TITLE};
use crate::render::{mask, one_line};

/// Where the point of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// What a shape stands for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Mark {
    /// What is measured.
    pub(super) name: String,
    /// The number that is drawn.
    pub(super) value: Option<f64>,
    /// What is told of it.
    pub(super) tip: String,
}

/// The form of a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Rect { x: f64, y: f64, width: f64, height: f64 },
    Line { points: Vec<(f64, f64)>, width: f64, dashed: bool },
    Area { points: Vec<(f64, f64)> },
    Dot { x: f64, y: f64, radius: f64 },
    Text { x: f64, y: f64, size: f64, anchor: Anchor, text: String },
}

/// One shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) form: Form,
    pub(super) ink: Ink,
    pub(super) opacity: f64,
    pub(super) mark: Option<Mark>,
}

/// A chart, drawn.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    pub(super) width: f64,
    /// Down to where it is drawn.
    pub(super) height: f64,
    pub(super) title: String,
    /// The chart in words: a line for each number.
    pub(super) words: Vec<String>,
    pub(super) shapes: Vec<Shape>,
}

/// Lines of the alternative in words: more would be read by nobody.
const MOST_WORDS: usize = 200;
/// Characters of a note.
const MOST_NOTE: usize = 1_000;
/// Characters of a text that are kept in tips and words.
const MOST_CHARACTERS: usize = 300;

/// A text of a trace for one line of a chart.
pub(super) fn safe(text: &str) -> String {
    bounded(text, MOST_CHARACTERS)
}

fn bounded(text: &str, most: usize) -> String {
    // Cut before masking too, so that a huge text costs little; masking may need what follows.
    let short: String = text.chars().take(4 * most).collect();
    let shown = one_line(&mask(&short));
    let cut = shown.chars().count() > most;
    let mut out: String = shown
        .chars()
        .take(most)
        .map(|c| if matches!(c, '\u{FFFE}' | '\u{FFFF}') { '\u{FFFD}' } else { c })
        .collect();
    if cut {
        out.push('…');
    }
    out
}

impl Canvas {
    /// An empty chart with its title, and what it is of below.
    pub(super) fn new(width: u32, title: &str, below: &str) -> Self {
        let width = f64::from(width);
        let mut canvas =
            Self { width, height: 12.0, title: safe(title), words: Vec::new(), shapes: Vec::new() };
        let room = width - LEFT - RIGHT;
        for line in measure::lines(&canvas.title.clone(), TITLE, room) {
            canvas.height += 18.0;
            canvas.text(LEFT, canvas.height - 4.0, TITLE, Anchor::Start, Ink::Text, &line);
        }
        canvas.note(below);
        canvas.height += 6.0;
        canvas
    }

    /// A line of small text over the whole width, broken where it is too long.
    pub(super) fn note(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        for text in text.lines() {
            let text = bounded(text, MOST_NOTE);
            for line in measure::lines(&text, SMALL, self.width - LEFT - RIGHT) {
                self.height += 16.0;
                self.text(LEFT, self.height - 4.0, SMALL, Anchor::Start, Ink::Muted, &line);
            }
            self.word(text);
        }
    }

    /// One sentence in place of a chart.
    pub(super) fn sentence(&mut self, text: &str) {
        let text = safe(text);
        self.height += 8.0;
        for line in measure::lines(&text, LABEL, self.width - LEFT - RIGHT) {
            self.height += 18.0;
            self.text(LEFT, self.height - 4.0, LABEL, Anchor::Start, Ink::Text, &line);
        }
        self.height += 8.0;
        self.word(text);
    }

    /// Adds a line to the alternative in words.
    pub(super) fn word(&mut self, line: impl Into<String>) {
        match self.words.len() {
            MOST_WORDS => self.words.push("and so on".to_owned()),
            length if length < MOST_WORDS => self.words.push(line.into()),
            _ => {}
        }
    }

    /// Adds a shape.
    pub(super) fn put(&mut self, form: Form, ink: Ink) -> &mut Shape {
        let at = self.shapes.len();
        self.shapes.push(Shape { form, ink, opacity: 1.0, mark: None });
        &mut self.shapes[at]
    }

    /// A text that is safe already and known to fit.
    pub(super) fn text(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, ink: Ink, text: &str) {
        self.put(Form::Text { x, y, size, anchor, text: text.to_owned() }, ink);
    }

    /// A name of a trace, cut to a width, whole in its tip.
    pub(super) fn name(
        &mut self,
        (x, y): (f64, f64),
        size: f64,
        anchor: Anchor,
        room: f64,
        name: &str,
    ) {
        let whole = safe(name);
        let cut = measure::fit(&whole, size, room);
        let mark = (cut != whole).then(|| Mark { tip: whole, ..Mark::default() });
        self.put(Form::Text { x, y, size, anchor, text: cut }, Ink::Text).mark = mark;
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, ink: Ink) -> &mut Shape {
        self.put(Form::Rect { x, y, width: width.max(0.0), height }, ink)
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, ink: Ink) {
        self.put(Form::Line { points: vec![from, to], width, dashed: false }, ink);
    }

    pub(super) fn dashed(&mut self, from: (f64, f64), to: (f64, f64), width: f64, ink: Ink) {
        self.put(Form::Line { points: vec![from, to], width, dashed: true }, ink);
    }

    pub(super) fn area(&mut self, points: Vec<(f64, f64)>, ink: Ink, opacity: f64) {
        self.put(Form::Area { points }, ink).opacity = opacity;
    }

    pub(super) fn dot(&mut self, x: f64, y: f64, radius: f64, ink: Ink) -> &mut Shape {
        self.put(Form::Dot { x, y, radius }, ink)
    }
}

impl Shape {
    /// Says what the shape stands for, and tells of it.
    pub(super) fn marks(&mut self, name: &str, value: f64, tip: String) {
        let value = value.is_finite().then_some(value);
        self.mark = Some(Mark { name: safe(name), value, tip });
    }
}

//! The house style: what each colour is for, its value in both themes, and sizes.
//!
//! The hues are those of Okabe and Ito's palette for colour-blind readers, darkened or lightened
//! until marks have a contrast of 3 and texts one of 4.5 on their ground; a test holds them to it.
//! No colour is the only bearer of what it says.

/// Light or dark, or left to the page that the chart stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    Light,
    /// Light ink on near black.
    Dark,
    /// Colours are CSS variables, with the light ones where the page sets none: see
    /// [`chart_css`](super::chart_css).
    Page,
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ink {
    /// The ground.
    Ground,
    /// Text.
    Text,
    /// Lesser text.
    Muted,
    /// Grid lines and empty places.
    Grid,
    /// Axes and reference lines.
    Axis,
    /// Values.
    Main,
    /// Better, completed, passed.
    Good,
    /// Worse, failed, lost.
    Bad,
    /// Neither.
    Neutral,
    /// What a model says, beside what was seen.
    Model,
}

impl Ink {
    pub(super) const ALL: [Self; 10] = [
        Self::Ground,
        Self::Text,
        Self::Muted,
        Self::Grid,
        Self::Axis,
        Self::Main,
        Self::Good,
        Self::Bad,
        Self::Neutral,
        Self::Model,
    ];

    /// Its name in CSS variables and classes.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ground => "ground",
            Self::Text => "text",
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Axis => "axis",
            Self::Main => "main",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Neutral => "neutral",
            Self::Model => "model",
        }
    }

    /// Red, green and blue: in the light theme and in the dark one. The light ones are all
    /// different, so that a colour tells what it is for.
    pub(super) const fn rgb(self) -> [(u8, u8, u8); 2] {
        match self {
            Self::Ground => [(0xff, 0xff, 0xff), (0x0d, 0x11, 0x17)],
            Self::Text => [(0x1f, 0x23, 0x28), (0xe6, 0xed, 0xf3)],
            Self::Muted => [(0x57, 0x60, 0x6a), (0x9d, 0xa7, 0xb3)],
            Self::Grid => [(0xe1, 0xe5, 0xea), (0x2a, 0x31, 0x3a)],
            Self::Axis => [(0x8a, 0x93, 0x9d), (0x6e, 0x77, 0x81)],
            Self::Main => [(0x00, 0x72, 0xb2), (0x56, 0xb4, 0xe9)],
            Self::Good => [(0x00, 0x7f, 0x5f), (0x2f, 0xc0, 0x96)],
            Self::Bad => [(0xc2, 0x4a, 0x00), (0xf2, 0x8a, 0x4b)],
            Self::Model => [(0x8e, 0x3b, 0x73), (0xd9, 0x9a, 0xc5)],
            Self::Neutral => [(0x6b, 0x75, 0x80), (0x8b, 0x95, 0xa1)],
        }
    }

    /// `#0072b2`.
    pub(super) fn hex(self, dark: bool) -> String {
        let [light, night] = self.rgb();
        let (r, g, b) = if dark { night } else { light };
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// The families that texts ask for; the first is built in.
pub(super) const FAMILY: &str =
    "DejaVu Sans, 'Noto Sans', 'Droid Sans Fallback', 'Noto Sans CJK SC', sans-serif";
/// Size of the title, in pixels.
pub(super) const TITLE: f64 = 15.0;
/// Size of labels.
pub(super) const LABEL: f64 = 12.0;
/// Size of what explains, and the smallest.
pub(super) const SMALL: f64 = 11.0;
/// Kept free at the left.
pub(super) const LEFT: f64 = 16.0;
/// Kept free at the right.
pub(super) const RIGHT: f64 = 24.0;
/// Height of a row.
pub(super) const ROW: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::Ink;

    /// Relative luminance (WCAG 2.2).
    fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
        let part = |value: u8| {
            let share = f64::from(value) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }

    fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn mixed(over: (u8, u8, u8), ground: (u8, u8, u8), share: f64) -> (u8, u8, u8) {
        let mix = |a: u8, b: u8| (f64::from(a) * share + f64::from(b) * (1.0 - share)) as u8;
        (mix(over.0, ground.0), mix(over.1, ground.1), mix(over.2, ground.2))
    }

    #[test]
    fn marks_and_texts_stand_out_from_their_ground_in_both_themes() {
        for theme in [0, 1] {
            let ground = Ink::Ground.rgb()[theme];
            for (ink, least) in [
                (Ink::Text, 7.0),
                (Ink::Muted, 4.5),
                (Ink::Axis, 3.0),
                (Ink::Main, 3.0),
                (Ink::Good, 4.5),
                (Ink::Bad, 4.5),
                (Ink::Neutral, 3.0),
                (Ink::Model, 3.0),
            ] {
                let got = contrast(ink.rgb()[theme], ground);
                assert!(got >= least, "{ink:?} in theme {theme}: {got}");
            }
            // Numbers stand in cells of a grid.
            let cell = mixed(Ink::Bad.rgb()[theme], ground, super::super::grid::DARKEST);
            let got = contrast(Ink::Text.rgb()[theme], cell);
            assert!(got >= 4.5, "text in the darkest cell of theme {theme}: {got}");
        }
    }

    #[test]
    fn every_light_colour_says_what_it_is_for() {
        for (at, ink) in Ink::ALL.iter().enumerate() {
            let same = Ink::ALL[..at].iter().find(|other| other.rgb()[0] == ink.rgb()[0]);
            assert_eq!(same, None, "{ink:?}");
        }
    }
}

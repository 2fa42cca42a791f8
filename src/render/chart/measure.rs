//! The widths of texts, from the metrics of the fonts that are built in.
//!
//! Reads the three tables that say how far a character advances (`cmap`, `hhea`, `hmtx`; the
//! OpenType specification). The files are the project's own; what cannot be read in them counts as
//! one em, so that a label is shortened too early rather than cut off.

use std::sync::OnceLock;

/// A font: its file, and what is read of it.
pub(super) struct Font {
    packed: &'static [u8],
    bytes: OnceLock<Vec<u8>>,
    advances: OnceLock<Option<Advances>>,
}

/// Latin and much else.
pub(super) static DEJAVU: Font = Font::new(include_bytes!("fonts/DejaVuSans.ttf.zst"));
/// Chinese, Japanese and Korean.
pub(super) static DROID: Font = Font::new(include_bytes!("fonts/DroidSansFallbackFull.ttf.zst"));

/// More than either font has.
const MOST_BYTES: usize = 8 << 20;

impl Font {
    const fn new(packed: &'static [u8]) -> Self {
        Self { packed, bytes: OnceLock::new(), advances: OnceLock::new() }
    }

    /// The font file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes
            .get_or_init(|| zstd::bulk::decompress(self.packed, MOST_BYTES).unwrap_or_default())
    }

    /// How far a character advances, in em; `None` where the font does not have it.
    fn advance(&self, c: char) -> Option<f64> {
        self.advances.get_or_init(|| Advances::read(self.bytes())).as_ref()?.of(c)
    }
}

/// Glyphs of characters and advances of glyphs.
struct Advances {
    /// First and last character of a range, and the first glyph where they follow each other.
    ranges: Vec<(u32, u32, Vec<u16>)>,
    units: f64,
    widths: Vec<u16>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl Advances {
    fn read(bytes: &[u8]) -> Option<Self> {
        let table = |tag: &[u8; 4]| {
            let count = usize::from(u16_at(bytes, 4)?);
            let entry =
                (0..count).map(|at| 12 + at * 16).find(|at| bytes.get(*at..at + 4) == Some(tag))?;
            bytes.get(u32_at(bytes, entry + 8)? as usize..)
        };
        let units = f64::from(u16_at(table(b"head")?, 18)?).max(1.0);
        let long = usize::from(u16_at(table(b"hhea")?, 34)?);
        let hmtx = table(b"hmtx")?;
        let widths = (0..long).map_while(|at| u16_at(hmtx, at * 4)).collect();
        Some(Self { ranges: ranges(table(b"cmap")?)?, units, widths })
    }

    fn of(&self, c: char) -> Option<f64> {
        let code = c as u32;
        let place = self.ranges.partition_point(|(_, last, _)| *last < code);
        let (first, _, glyphs) = self.ranges.get(place)?;
        let glyph = *glyphs.get(code.checked_sub(*first)? as usize)?;
        // Glyphs beyond the last width have that one.
        let width = self.widths.get(usize::from(glyph)).or(self.widths.last())?;
        (glyph != 0).then(|| f64::from(*width) / self.units)
    }
}

/// The ranges of the character map of the basic plane (format 4).
fn ranges(cmap: &[u8]) -> Option<Vec<(u32, u32, Vec<u16>)>> {
    let count = usize::from(u16_at(cmap, 2)?);
    let offsets = (0..count).filter_map(|at| u32_at(cmap, 4 + at * 8 + 4));
    let map =
        offsets.filter_map(|at| cmap.get(at as usize..)).find(|map| u16_at(map, 0) == Some(4))?;
    let double = usize::from(u16_at(map, 6)?);
    let mut ranges = Vec::new();
    for at in (0..double).step_by(2) {
        let last = u16_at(map, 14 + at)?;
        let first = u16_at(map, 16 + double + at)?;
        let delta = u16_at(map, 16 + 2 * double + at)?;
        let place = 16 + 3 * double + at;
        let offset = usize::from(u16_at(map, place)?);
        let glyph = |code: u16| {
            if offset == 0 {
                return code.wrapping_add(delta);
            }
            let at = place + offset + 2 * usize::from(code - first);
            u16_at(map, at).filter(|glyph| *glyph != 0).map_or(0, |glyph| glyph.wrapping_add(delta))
        };
        if first <= last {
            ranges.push((u32::from(first), u32::from(last), (first..=last).map(glyph).collect()));
        }
    }
    Some(ranges)
}

/// The width of a text at a size, in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| advance(c) * size).sum()
}

fn advance(c: char) -> f64 {
    DEJAVU.advance(c).or_else(|| DROID.advance(c)).unwrap_or(1.0)
}

/// The text, cut to a width with `…` where it is wider.
pub(super) fn fit(text: &str, size: f64, most: f64) -> String {
    // Only so much can be seen; the rest of a text of a megabyte is not measured.
    let seen: String = text.chars().take(500).collect();
    if seen.len() == text.len() && width(text, size) <= most {
        return text.to_owned();
    }
    let room = most - advance('…') * size;
    let (mut out, mut used) = (String::new(), 0.0);
    for c in seen.chars() {
        used += advance(c) * size;
        if used > room {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// The text in lines of a width, broken between words.
pub(super) fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + advance(' ') * size <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| fit(&line, size, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::{DEJAVU, DROID, fit, lines, width};

    #[test]
    fn widths_are_those_of_the_fonts() {
        // Advances that the fonts are known for: of 2048 units, of 256 units.
        assert!((width("A", 2048.0) - 1401.0).abs() < 1e-6, "{}", width("A", 2048.0));
        assert!((width("0", 2048.0) - 1303.0).abs() < 1e-6);
        assert!((width("退款", 10.0) - 20.0).abs() < 0.5, "{}", width("退款", 10.0));
        assert_eq!(DEJAVU.advance('退'), None);
        assert!(DROID.advance('退').is_some());
    }

    #[test]
    fn a_cut_text_is_not_wider_than_its_room() {
        for text in
            ["a_rather_long_name_of_a_tool", "处理一个很长的退款请求的步骤", "mixed 名称 tool"]
        {
            for room in [20.0, 50.0, 90.0] {
                let cut = fit(text, 12.0, room);
                assert!(cut.ends_with('…') && width(&cut, 12.0) <= room, "{cut}");
            }
            assert_eq!(fit(text, 12.0, 1000.0), text);
        }
        assert!(fit(&"x".repeat(1 << 20), 12.0, 1e9).chars().count() <= 501);
        assert_eq!(lines("one two three", 12.0, 55.0), ["one two", "three"]);
    }
}

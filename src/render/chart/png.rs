//! A chart as PNG, drawn from its SVG with the fonts that are built in.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::measure::{DEJAVU, DROID};

/// Pixels of the picture for one of the chart.
const SCALE: f32 = 2.0;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The SVG cannot be read back.
    #[error("the chart cannot be drawn as a picture ({0}); write it as .svg instead")]
    Unreadable(String),
    /// No memory for the pixels, or they cannot be written.
    #[error("the picture is too large; write the chart as .svg, or with a smaller --width")]
    TooLarge,
}

/// Draws an SVG of this module.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut options = Options { font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(DEJAVU.bytes().to_vec());
    if !svg.is_ascii() {
        // Reading the large font takes longer than all the rest.
        fonts.load_font_data(DROID.bytes().to_vec());
    }
    let tree =
        Tree::from_str(svg, &options).map_err(|error| PngError::Unreadable(error.to_string()))?;
    let size = tree.size().to_int_size();
    let side = |length: u32| length.checked_mul(2).ok_or(PngError::TooLarge);
    let mut pixels =
        Pixmap::new(side(size.width())?, side(size.height())?).ok_or(PngError::TooLarge)?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|_| PngError::TooLarge)
}

//! Masking, under the name that renderers know it by; the patterns are those of `model/`, because
//! what is stored is masked as what is shown is.

pub use crate::model::mask;

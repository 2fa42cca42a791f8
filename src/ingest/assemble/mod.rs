//! Joins fragments of formats whose runs are spread over lines or files.

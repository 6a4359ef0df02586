//! Build times.
fn main() {}

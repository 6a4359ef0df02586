//! How much a test tries. Test programs of other crates include this file by its path.

#![allow(dead_code, reason = "each test program uses a part")]

use proptest::prelude::ProptestConfig;

/// The number of cases of a property that names none, in the long run.
const LONG: u32 = 256;

/// `number` cases in the long run. The short run tries a quarter, with `PROPTEST_CASES=64`, and
/// `PROPTEST_CASES=2560` tries ten times as many.
pub fn cases(number: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: (number * default.cases / LONG).max(3),
        ..default
    }
}

/// Less for a loop of the short run, which asks for fewer cases, than for one of the long run.
pub fn short_or_long<T>(short: T, long: T) -> T {
    if ProptestConfig::default().cases < LONG {
        short
    } else {
        long
    }
}

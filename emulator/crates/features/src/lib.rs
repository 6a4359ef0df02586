//! This crate has no functions. Three calls of cargo build the engine and the two programs, and
//! each call enables only the features of dependencies that its own crates request. A dependency
//! with other features, such as serde, is compiled again, with everything that depends on it. All
//! our crates depend on this one, which requests the features of all three, so that shared
//! dependencies are compiled once. Without link-time optimisation, on two processors: 250 s for all
//! three instead of 310 s.

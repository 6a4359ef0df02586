//! Measures the time to read one register of a server's chip in a run, and to clear one, which
//! stores its previous count. Fails above a limit. Needs root. Run with
//! `cargo bench -p cubeyard-fabric --bench registers`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::process::ExitCode;

use common::{Host, can_emulate, fresh_run, in_row, row};
use serde_json::{Value, json};

const ROUNDS: usize = 1001;
/// Limit per operation in nanoseconds.
const BOUND: u64 = 1000;
const NAME: &str = "OUT_BYTES_PORT1";
/// Operation, value to write, and the paper's time in nanoseconds `[serverswitch §6.1]`.
const CASES: [(&str, Option<u64>, u32); 2] = [("read", None, 6940), ("written", Some(0), 4610)];

fn main() -> ExitCode {
    if !can_emulate("registers") {
        return ExitCode::SUCCESS;
    }
    let (mut host, run) = (Host::start(), fresh_run());
    host.build(&row(3, &run, "serverswitch", |_| 0));
    let mut broken = false;
    for (what, value, paper) in CASES {
        let params = json!({"run": run, "server": in_row(1), "register": NAME, "value": value});
        let nanos = |answer: Value| answer["nanos"].as_u64().expect("a time");
        let mut times: Vec<u64> = (0..ROUNDS)
            .map(|_| nanos(host.ask("registers", params.clone())))
            .collect();
        times.sort_unstable();
        let median = times[ROUNDS / 2];
        broken |= median > BOUND;
        let kept = if median <= BOUND { "kept" } else { "BROKEN" };
        println!(
            "a register {what}: {median} ns, median of {ROUNDS} ({BOUND}; the paper's card: {paper} ns)  {kept}"
        );
    }
    ExitCode::from(u8::from(broken))
}

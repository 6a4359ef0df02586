//! Four million flows in bounded memory, in the short run a sixteenth. One test alone in its
//! process, whose peak the kernel keeps.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot set itself up should fail; the message has the measured value"
)]

#[path = "../../topology/tests/cases.rs"]
mod cases;

use cases::short_or_long;
use cubeyard_sim::{Experiment, Network, Progress, predict};
use serde_json::json;

/// The greatest resident memory of this process so far, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn rates_of_millions_of_flows_fit() {
    let (servers, flows, most_mib) = short_or_long((512_u64, 261_632, 40), (2048, 4_192_256, 400));
    let spec = json!({"family": "bcube", "n": 8, "k": 3, "servers": servers});
    let network = Network::open(&spec.to_string()).unwrap();
    let text = r#"{"max_min": true, "faults": [{"target": {"kind": "switch", "ratio": 0.1}}]}"#;
    let document = predict(
        &network,
        &Experiment::from_json(text).unwrap(),
        &Progress::default(),
    )
    .unwrap();
    let [carried, dropped] = ["flows", "dropped_flows"].map(|kind| document[kind].as_u64().unwrap());
    assert_eq!(carried + dropped, flows);
    let peak = peak_mib();
    println!("{flows} flows, every path kept, max-min rates: {peak} MiB at the peak");
    assert!(peak <= most_mib, "{peak} MiB, above {most_mib}");
}

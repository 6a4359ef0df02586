//! Four million flows in bounded memory. One test alone in its process, whose peak the kernel
//! keeps.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot set itself up should fail; it says what it measured"
)]

use cubeyard_sim::{Experiment, Network, Progress, predict};

const MOST_MIB: u64 = 400;

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
fn rates_of_four_million_flows_fit() {
    let network = Network::open(r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#).unwrap();
    let text = r#"{"max_min": true, "faults": [{"target": {"kind": "switch", "ratio": 0.1}}]}"#;
    let document = predict(
        &network,
        &Experiment::from_json(text).unwrap(),
        &Progress::default(),
    )
    .unwrap();
    let flows = document["flows"].as_u64().unwrap() + document["dropped_flows"].as_u64().unwrap();
    assert_eq!(flows, 4_192_256);
    println!(
        "{flows} flows, every path kept, max-min rates: {} MiB at the peak",
        peak_mib()
    );
    assert!(peak_mib() <= MOST_MIB, "{} MiB, above {MOST_MIB}", peak_mib());
}

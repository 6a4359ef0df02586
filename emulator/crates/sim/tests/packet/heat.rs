//! The load of links over time: its sum equals the total load, it is bounded, and it grows during
//! the run.

use cubeyard_sim::packet::heat::{MOST_FRAMES, MOST_LINKS, MOST_VALUES};
use cubeyard_sim::{EngineKind, Experiment, Network, Progress};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The document, and the partial ones before it.
fn simulate(spec: &Value, fields: &Value) -> (Value, Vec<Value>) {
    let mut fields = fields.clone();
    fields["engine"] = json!("packet");
    let experiment = Experiment::from_json(&fields.to_string()).unwrap();
    let network = Network::open(&spec.to_string()).unwrap();
    let mut partial = Vec::new();
    let document = EngineKind::Packet
        .engine()
        .run(&network, &experiment, &Progress::default(), &mut |frame| {
            partial.push(Value::Object(frame.fields));
        })
        .unwrap();
    (document, partial)
}

fn rows(heat: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(heat["permille"].clone()).unwrap()
}

/// Seconds of each frame: the last one ends with the simulation.
fn lengths(document: &Value) -> Vec<f64> {
    let heat = &document["link_heat"];
    let (step, end) = (
        heat["step_secs"].as_f64().unwrap(),
        document["simulated_secs"].as_f64().unwrap(),
    );
    let frames = rows(heat).len();
    (0..frames)
        .map(|frame| ((frame + 1) as f64 * step).min(end) - frame as f64 * step)
        .collect()
}

#[test]
fn the_links_of_a_flow_are_full_while_it_lasts_and_no_others_are_listed() {
    let (document, _) = simulate(
        &json!({"family": "bcube", "n": 4, "k": 0}),
        &json!({"workload": {"kind": "one-to-one", "bytes": 20_000_000}, "link_gbps": 1, "packet": {"max_window": 64}}),
    );
    let heat = &document["link_heat"];
    // Two links for data and two for acknowledgements, of which one of 40 bytes comes for each
    // packet of 1,500.
    assert_eq!(
        (&heat["links_used"], heat["names"].as_array().unwrap().len()),
        (&json!(4), 4)
    );
    let rows = rows(heat);
    assert!(
        (MOST_FRAMES / 2..=MOST_FRAMES).contains(&rows.len()),
        "{}",
        rows.len()
    );
    for row in &rows[4..rows.len() - 1] {
        let mut sorted = row.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(
            sorted[0] == sorted[1] && (26.0..=28.0).contains(&sorted[0]),
            "{row:?}"
        );
        assert!(sorted[2] >= 990.0, "{row:?}");
    }
}

#[test]
fn many_links_are_told_within_the_bound_and_the_busiest_first() {
    let spec = json!({"family": "bcube", "n": 8, "k": 3});
    let fields = json!({"workload": {"kind": "permutation", "bytes": 3_000}, "link_gbps": 1});
    let (document, _) = simulate(&spec, &fields);
    let heat = &document["link_heat"];
    let (used, told) = (
        heat["links_used"].as_u64().unwrap(),
        heat["links"].as_array().unwrap().len(),
    );
    assert!(
        used as usize > MOST_LINKS && told == MOST_LINKS,
        "{used} used, {told} told"
    );
    let rows = rows(heat);
    assert!(
        rows.len() > 4 && rows.len() * told <= MOST_VALUES,
        "{}",
        rows.len()
    );
    assert!(
        rows.iter()
            .all(|row| row.len() == told && row.iter().all(|&share| share <= 1000.0))
    );
    assert_eq!(document.to_string(), simulate(&spec, &fields).0.to_string());
}

#[test]
fn it_grows_while_the_run_does_and_can_be_left_out() {
    let spec = json!({"family": "bcube", "n": 4, "k": 1});
    let mut fields = json!({"workload": {"kind": "all-to-all", "bytes": 1_500_000}, "link_gbps": 1});
    let (document, partial) = simulate(&spec, &fields);
    assert!(!partial.is_empty());
    for frame in &partial {
        assert!(!rows(&frame["link_heat"]).is_empty() && frame["link_heat"].get("names").is_none());
    }
    assert_eq!(document["link_heat"]["links_used"], json!(64));
    fields["packet"] = json!({"link_heat": false});
    let (without, partial) = simulate(&spec, &fields);
    assert!(without.get("link_heat").is_none() && partial[0].get("link_heat").is_none());
    assert_eq!(without["completion_secs"], document["completion_secs"]);
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]
    /// Frames are exact to a rounding of a thousandth: with their lengths they give what a link
    /// carried in all.
    #[test]
    fn frames_sum_up_to_what_links_carried(seed: u64, bytes in 1..400_000u64, hop in 1e-6..1e-3f64, faulty: bool) {
        let mut fields = json!({
            "workload": {"kind": "permutation", "bytes": bytes}, "link_gbps": 1, "seeds": [seed], "packet": {"hop_delay_secs": hop},
        });
        if faulty {
            fields["faults"] = json!([{
                "kind": "link-rate", "rate_bits_per_sec": 1e8, "target": {"kind": "link", "ratio": 0.3}, "at_secs": hop * 3.0,
            }]);
        }
        let (document, _) = simulate(&json!({"family": "bcube", "n": 3, "k": 1}), &fields);
        let heat = &document["link_heat"];
        let (rows, lengths) = (rows(heat), lengths(&document));
        prop_assert!(lengths.iter().all(|&secs| secs > 0.0), "{lengths:?}");
        let end: f64 = lengths.iter().sum();
        for busy in document["busiest_links"].as_array().unwrap() {
            let at = heat["names"].as_array().unwrap().iter().position(|name| *name == busy["link"]).unwrap();
            let told: f64 = rows.iter().zip(&lengths).map(|(row, secs)| row[at] / 1000.0 * secs).sum();
            let carried = busy["utilisation"].as_f64().unwrap() * end;
            // At the end all flows have ended, so waiting bytes do not matter. A burst after a
            // change of the rate is limited to its frame's share.
            let least = if faulty { 0.5 * carried } else { carried };
            prop_assert!(told >= least - 1e-3 * end && told <= carried + 1e-3 * end, "{told} s of {carried}: {busy}");
        }
    }
}

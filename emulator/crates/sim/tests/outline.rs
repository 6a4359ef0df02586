//! An outline tells what its prediction does, and refuses what that refuses.

use cubeyard_sim::{Experiment, Network, PredictError, Progress, outline, predict};
use serde_json::{Value, json};

fn network() -> Network {
    Network::open(r#"{"family":"bcube","n":4,"k":1}"#).expect("a small BCube")
}

fn experiment(fields: &Value) -> Experiment {
    Experiment::from_json(&fields.to_string()).expect("readable")
}

#[test]
fn it_tells_what_the_prediction_does() {
    let cases = [
        json!({}),
        json!({"faults": [{"target": {"kind": "switch", "ratio": 0.25}}], "routing": "bcube-fixed"}),
        json!({"workload": {"kind": "incast", "count": 5}, "seeds": [3]}),
        json!({"faults": [{"target": {"selector": "3 links"}, "kind": "link-loss", "loss_ratio": 0.5}]}),
    ];
    for fields in cases {
        let experiment = experiment(&fields);
        let told = outline(&network(), &experiment).expect("possible");
        let done = predict(&network(), &experiment, &Progress::default()).expect("possible");
        assert_eq!(told["routing"], done["routing"]);
        for kind in ["servers", "switches", "links", "degraded_links"] {
            assert_eq!(told["failed"][kind], done["failures"][kind]);
        }
        let flows = done["flows"].as_u64().zip(done["dropped_flows"].as_u64());
        assert_eq!(
            told["flows"].as_u64(),
            flows.map(|(carried, dropped)| carried + dropped)
        );
    }
}

#[test]
fn it_refuses_what_the_prediction_refuses_in_its_words() {
    let cases = [
        json!({"routing": "carrier-pigeon"}),
        json!({"workload": {"kind": "one-to-all", "source": "nobody"}}),
        json!({"faults": [{"target": {"selector": "most of it"}}]}),
    ];
    for fields in cases {
        let experiment = experiment(&fields);
        let refused = outline(&network(), &experiment).expect_err("impossible");
        let failed = predict(&network(), &experiment, &Progress::default()).expect_err("impossible");
        assert_eq!(PredictError::Findings(refused), failed);
    }
}

//! What an experiment will ask, without computing it: everything that can be refused is refused here.

use cubeyard_topology::Finding;
use serde_json::{Value, json};

use crate::degraded::Damage;
use crate::experiment::{Experiment, MAX_LISTED_RATES, MAX_TIMED_FLOWS};
use crate::faults;
use crate::network::Network;
use crate::predict::{failed_counts, wants_paths};
use crate::scheme;

/// `{routing, flows, failed: {servers, switches, links, degraded_links}, keeps_paths}` of an experiment's first seed.
///
/// # Errors
/// The findings that [`crate::predict()`] would give.
pub fn outline(network: &Network, experiment: &Experiment) -> Result<Value, Vec<Finding>> {
    let routing = scheme::known(experiment.routing.as_deref(), network.topology().spec())?;
    let seed = experiment.seeds.first().copied().unwrap_or_default();
    let Damage { failures, degraded } = faults::apply(&experiment.faults, network, seed)?;
    let degraded_links = degraded
        .capacity(network.capacity_gbps(experiment.link_gbps))
        .degraded_links;
    let flows = experiment.workload.demand(network, seed)?.flows.len();
    check_flows(experiment, flows)?;
    Ok(json!({
        "routing": routing,
        "flows": flows,
        "failed": failed_counts(network.topology(), &failures, degraded_links),
        "keeps_paths": wants_paths(experiment, flows),
    }))
}

/// Refuses what is given for fewer flows only.
pub(crate) fn check_flows(experiment: &Experiment, flows: u64) -> Result<(), Vec<Finding>> {
    let refused = [
        (
            experiment.flow_gigabits.is_some(),
            MAX_TIMED_FLOWS,
            "flow_gigabits",
        ),
        (experiment.flow_rates, MAX_LISTED_RATES, "flow_rates"),
    ]
    .into_iter()
    .find(|&(asked, limit, _)| asked && flows > limit);
    let Some((_, limit, field)) = refused else {
        return Ok(());
    };
    Err(vec![
        Finding::error(
            "too-many-flows",
            field,
            format!("{field} is given for up to {limit} flows; this workload has {flows}."),
            "Leave it out, or take a smaller workload.",
        )
        .with_value(flows)
        .with_limit(limit),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Progress, predict};

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
            assert_eq!(predict::PredictError::Findings(refused), failed);
        }
    }
}

//! Subways [subways §4]: a fat-tree whose servers connect to their own ToR and to its neighbours.
//!
//! A loop is `l` logical racks with a ToR each. A server of rack `i` has `p` ports: on its own ToR
//! and on `i - ceil((p-1)/2) … i + floor((p-1)/2)`, around the loop. Port 0 goes to the own ToR,
//! the next ports to the ToR on the left, the ToR on the right, the second on the left, and so on.
//! Therefore raising `p` keeps every existing cable.
//!
//! Numbers of uplinks, aggregation and core switches, which the paper leaves open `[ours]`:
//!
//! - a ToR has `ceil(down / (tor_oversubscription * uplink))` uplinks for the fastest cluster,
//!   rounded up so that each aggregation switch of its cluster gets the same number; without
//!   `aggs_per_cluster` the number of aggregation switches equals the number of uplinks, as in
//!   [subways §8.1];
//! - an aggregation switch with `d` links down has `ceil(d / agg_oversubscription)` links up (12
//!   down and 3 up at 4:1), dealt to the cores in turn: link `v` of switch `i` of every cluster
//!   goes to core `(i v_total + v) mod cores`; without `cores` each such pair has its own core
//!   switch;
//! - defaults are 5:1 and 4:1 [subways §8.1]; a single cluster needs no core.

mod closed_forms;
mod findings;
mod rule;
mod shape;
mod sizes;

pub(crate) use self::findings::validate;
pub(crate) use self::shape::Subways;
use self::sizes::sizes;
use crate::describe::{Description, Kind, Parameter};
use crate::spec::{SubwaysSpec, TopologySpec};

pub(crate) const DESCRIPTION: Description = Description {
    family: "subways",
    title: "Subways",
    summary: "A fat-tree whose servers connect to several neighbouring ToR switches in overlapping loops: shorter paths, \
              smoother hot spots, and upgrades that move no cable.",
    source: "[subways §4]",
    names: "Server loop.rack.server, ToR <0,loop.rack>, aggregation <1,cluster.i>, core <2,i>.",
    parameters: &[
        Parameter::integer("type", "", "Wiring type", 0, 2)
            .kind(Kind::Enum(&[
                (0, "0: all ports to the own ToR"),
                (1, "1: neighbouring ToRs of one cluster"),
                (2, "2: neighbouring ToRs of several clusters"),
            ]))
            .doc("Where a server's ports go: a trunk to its own ToR, or one each to neighbouring ToRs."),
        Parameter::integer("p", "p", "Ports per server", 1, 64)
            .unit("ports")
            .doc("With types 1 and 2 at most l; p = l is multihoming."),
        Parameter::integer("q", "q", "Downward ports per ToR", 1, 4096)
            .unit("ports")
            .doc("A multiple of p: a logical rack has r = q/p servers."),
        Parameter::integer("l", "l", "Racks per loop", 1, 4096)
            .unit("racks")
            .doc("Logical racks, and ToRs, in a single loop."),
        Parameter::integer("c", "c", "Clusters per loop", 1, 1024)
            .unit("clusters")
            .default(1.0)
            .doc("Clusters whose ToRs take turns along a loop (type 2); the clusters are a multiple of it."),
        Parameter::integer("clusters", "", "Clusters", 1, 4096)
            .unit("clusters")
            .default(1.0)
            .doc("Groups of ToRs under the same aggregation switches."),
        Parameter::integer("loops_per_cluster", "", "Loops per cluster", 1, 4096)
            .unit("loops")
            .default(1.0)
            .doc("The network has clusters x loops_per_cluster loops."),
        Parameter::integer("aggs_per_cluster", "", "Aggregation switches per cluster", 1, 65_535)
            .unit("switches")
            .derived("as many as a ToR needs uplinks for its oversubscription")
            .doc("Every ToR connects to all of its cluster's, equally often."),
        Parameter::integer("cores", "", "Core switches", 0, 64_000_000)
            .unit("switches")
            .derived("one for each uplink of a cluster; none with a single cluster")
            .doc("They join the clusters."),
        Parameter::number("tor_oversubscription", "", "ToR oversubscription", 0.01, 1000.0)
            .unit("x")
            .derived("5, or what aggs_per_cluster gives")
            .doc("Capacity to the servers over capacity to the aggregation switches."),
        Parameter::number("agg_oversubscription", "", "Aggregation oversubscription", 0.01, 1000.0)
            .unit("x")
            .derived("4, or what cores gives")
            .doc("Capacity to the ToRs over capacity to the core."),
        Parameter::number("server_gbps", "", "Server port rate", 0.001, 1600.0)
            .kind(Kind::NumberOrList)
            .unit("Gb/s")
            .default(10.0)
            .doc("Of every server port, or a list with one rate for each of the p ports."),
        Parameter::number("cluster_gbps", "", "Rate by cluster", 0.001, 1600.0)
            .kind(Kind::List)
            .unit("Gb/s")
            .derived("server_gbps everywhere")
            .doc("One rate for the server links into each cluster, as when a faster network is added beside an old one."),
        Parameter::number("uplink_gbps", "", "Uplink rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(40.0)
            .doc("Of the links above the ToRs."),
        Parameter::integer("former_type", "", "Type before the upgrade", 0, 1)
            .of_runs()
            .doc("ToRs that an upgrade to type 2 moves to other clusters have their uplinks of both types."),
    ],
    presets: &[
        (
            "The paper's default, type 1: 30-port ToRs, loops of 12, two clusters",
            r#"{"family":"subways","type":1,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "The same with trunks, type 0",
            r#"{"family":"subways","type":0,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "The same across two clusters, type 2",
            r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "10 and 25 Gb/s networks side by side, type 2",
            r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"cluster_gbps":[10,25],"uplink_gbps":25}"#,
        ),
        (
            "The paper's testbed: 16 servers, 4 ToRs, 2 aggregation switches",
            r#"{"family":"subways","type":1,"p":2,"q":8,"l":4,"aggs_per_cluster":2,"server_gbps":0.5,"uplink_gbps":0.5}"#,
        ),
        (
            "2,040 servers: 40-port ToRs, loops of 17, six clusters",
            r#"{"family":"subways","type":1,"p":2,"q":40,"l":17,"clusters":6}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Subways),
};

pub(crate) fn resolve(spec: &SubwaysSpec) -> SubwaysSpec {
    let sizes = sizes(spec);
    // The values that follow, where they are also parameters.
    let realised = |name: &str, value: f64, asked: Option<f64>| {
        let parameter = DESCRIPTION.parameter(name);
        if parameter.is_some_and(|parameter| value >= parameter.min && value <= parameter.max) {
            Some(value)
        } else {
            asked
        }
    };
    let agg_oversubscription = sizes.agg_down as f64 / sizes.agg_up as f64;
    SubwaysSpec {
        c: sizes.spread,
        aggs_per_cluster: Some(sizes.aggs_per_cluster),
        cores: Some(u32::try_from(sizes.cores).unwrap_or(u32::MAX)),
        tor_oversubscription: realised(
            "tor_oversubscription",
            sizes.tor_oversubscription,
            spec.tor_oversubscription,
        ),
        agg_oversubscription: if sizes.agg_up == 0 {
            None
        } else {
            realised(
                "agg_oversubscription",
                agg_oversubscription,
                spec.agg_oversubscription,
            )
        },
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &SubwaysSpec) -> String {
    format!(
        "Subways type {}, p = {}, l = {}",
        spec.wiring_type, spec.p, spec.l
    )
}

/// Addressing of a valid specification.
pub(crate) fn shape(spec: &SubwaysSpec) -> Subways {
    Subways::new(spec, sizes(spec))
}

//! A two-dimensional torus: every server joined to its neighbours along two axes, without switches.
//! It is one plane of the three-dimensional torus (`torus3d`), whose wiring and closed forms it
//! shares.

use serde_json::json;

use super::common::too_large;
use super::torus3d::Torus3d;
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::spec::{TopologySpec, Torus2dSpec};

const fn axis(name: &'static str, title: &'static str) -> Parameter {
    Parameter::integer(name, name, title, 1, 4096)
        .unit("servers")
        .doc("Servers along this axis, joined into a ring.")
}

pub(crate) const DESCRIPTION: Description = Description {
    family: "torus2d",
    title: "2D torus",
    summary: "A two-dimensional torus of servers with four ports each and no switches; servers relay for others.",
    source: "[ours]",
    names: "Server (x,y); ports x+ x- y+ y-; levels 0 and 1 are the axes.",
    parameters: &[axis("x", "Size along x"), axis("y", "Size along y")],
    presets: &[
        ("64 servers", r#"{"family":"torus2d","x":8,"y":8}"#),
        ("2,048 servers", r#"{"family":"torus2d","x":64,"y":32}"#),
        ("A lab of 9 servers", r#"{"family":"torus2d","x":3,"y":3}"#),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Torus2d),
};

pub(crate) fn validate(spec: &Torus2dSpec) -> Vec<Finding> {
    let sizes = [("x", spec.x), ("y", spec.y)];
    let servers: u128 = sizes.iter().map(|&(_, size)| u128::from(size)).product();
    let links = servers * sizes.iter().filter(|(_, size)| *size > 1).count() as u128;
    let fixes = [("x", json!(spec.x.min(256))), ("y", json!(spec.y.min(256)))];
    let what = format!("A {} x {} torus", spec.x, spec.y);
    if let Some(finding) = too_large("x", &what, links, fixes) {
        return vec![finding];
    }
    let short = sizes.into_iter().filter(|&(_, size)| size < 3);
    short
        .map(|(name, size)| {
            let (there, links) = match size {
                1 => ("is one server", "no link"),
                _ => ("are two servers", "a single link"),
            };
            Finding::info(
                "torus-short-axis",
                format!("topology.{name}"),
                format!("Along {name} there {there}, so servers have {links} there."),
                format!("Use {name} = 3 or more for four links a server."),
            )
            .with_topology_fix(name, 3)
        })
        .collect()
}

pub(crate) fn title(spec: &Torus2dSpec) -> String {
    format!("2D torus {}×{}", spec.x, spec.y)
}

pub(crate) fn shape(spec: &Torus2dSpec) -> Torus3d {
    Torus3d::flat(spec.x, spec.y)
}

//! CamCube's three-dimensional torus [camcube §2]: every server joined to its neighbours along
//! three axes, without switches. Along an axis of two servers there is one link, along one server
//! none.

use std::fmt::Write;

use serde_json::json;

use super::Family;
use super::common::{GIGABIT, NamedLink, read_list, too_large};
use crate::address::TorusAddresses;
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{TopologySpec, Torus3dSpec};
use crate::topology::{Picture, SwitchTier, Topology};

const AXES: [&str; 3] = ["x", "y", "z"];

const fn axis(name: &'static str, title: &'static str) -> Parameter {
    Parameter::integer(name, name, title, 1, 4096)
        .unit("servers")
        .doc("Servers along this axis, joined into a ring.")
}

pub(crate) const DESCRIPTION: Description = Description {
    family: "torus3d",
    title: "CamCube torus",
    summary: "A three-dimensional torus of servers with six ports each and no switches at all; a server's place is its \
              address and its key range.",
    source: "[camcube §2]",
    names: "Server (x,y,z); ports x+ x- y+ y- z+ z-; levels 0, 1, 2 are the axes.",
    parameters: &[
        axis("x", "Size along x"),
        axis("y", "Size along y"),
        axis("z", "Size along z"),
    ],
    presets: &[
        (
            "The paper's 20-ary 3-cube, 8,000 servers",
            r#"{"family":"torus3d","x":20,"y":20,"z":20}"#,
        ),
        (
            "12-ary 3-cube, 1,728 servers",
            r#"{"family":"torus3d","x":12,"y":12,"z":12}"#,
        ),
        ("2,048 servers", r#"{"family":"torus3d","x":16,"y":16,"z":8}"#),
        (
            "The paper's testbed, 27 servers",
            r#"{"family":"torus3d","x":3,"y":3,"z":3}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Torus3d),
};

pub(crate) fn validate(spec: &Torus3dSpec) -> Vec<Finding> {
    let sizes = [spec.x, spec.y, spec.z];
    let servers: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    let links = servers * sizes.iter().filter(|&&size| size > 1).count() as u128;
    let fixes = [
        ("x", json!(spec.x.min(256))),
        ("y", json!(spec.y.min(256))),
        ("z", json!(spec.z.min(256))),
    ];
    if let Some(finding) = too_large(
        "x",
        &format!("A {} x {} x {} torus", spec.x, spec.y, spec.z),
        links,
        fixes,
    ) {
        return vec![finding];
    }
    let mut findings = Vec::new();
    for (name, &size) in AXES.iter().zip(&sizes) {
        if size < 3 {
            findings.push(
                Finding::info(
                    "torus-short-axis",
                    format!("topology.{name}"),
                    format!(
                        "Along {name} there {}, so servers have {} there.",
                        if size == 1 {
                            "is one server"
                        } else {
                            "are two servers"
                        },
                        if size == 1 { "no link" } else { "a single link" }
                    ),
                    format!("Use {name} = 3 or more for six links a server."),
                )
                .with_topology_fix(name, 3),
            );
        }
    }
    findings
}

pub(crate) fn title(spec: &Torus3dSpec) -> String {
    format!("CamCube {}×{}×{}", spec.x, spec.y, spec.z)
}

#[derive(Clone, Debug)]
pub(crate) struct Torus3d {
    sizes: [u32; 3],
    /// 3, or 2 in a torus without a third axis, whose size is 1 then.
    axes: usize,
    /// Where the closed forms come from.
    source: &'static str,
    addresses: TorusAddresses,
}

impl Torus3d {
    pub fn new(spec: &Torus3dSpec) -> Torus3d {
        let addresses = TorusAddresses::new(spec);
        Torus3d {
            sizes: addresses.sizes(),
            axes: 3,
            source: "[camcube §2]",
            addresses,
        }
    }

    /// A torus of two axes, the planes of one of three.
    pub fn flat(x: u32, y: u32) -> Torus3d {
        Torus3d {
            axes: 2,
            source: "[ours]",
            ..Torus3d::new(&Torus3dSpec { x, y, z: 1 })
        }
    }

    /// First port of an axis: `+`, followed by `-` where the ring has three servers or more.
    fn first_port(&self, axis: usize) -> u16 {
        self.addresses.first_port(axis) as u16
    }

    fn degree(&self) -> u32 {
        self.addresses.degree()
    }

    fn read(&self, name: &str) -> Option<[u32; 3]> {
        let list = read_list(name.strip_prefix('(')?.strip_suffix(')')?, ',')?;
        if list.len() != self.axes {
            return None;
        }
        let mut place = [0; 3];
        place[..list.len()].copy_from_slice(&list);
        place
            .iter()
            .zip(&self.sizes)
            .all(|(place, size)| place < size)
            .then_some(place)
    }

    /// Fewest links of a cut that takes whole planes of one axis, and bisects the middle plane of
    /// an odd one in turn.
    fn bisection(sizes: &[u32]) -> f64 {
        if sizes.is_empty() {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for (index, &size) in sizes.iter().enumerate() {
            let plane: f64 = sizes
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != index)
                .map(|(_, &size)| f64::from(size))
                .product();
            let rest: Vec<u32> = sizes
                .iter()
                .enumerate()
                .filter(|&(other, _)| other != index)
                .map(|(_, &size)| size)
                .collect();
            let rings = f64::from((size - 1).min(2));
            let cut = rings * plane
                + if size % 2 == 1 {
                    Torus3d::bisection(&rest)
                } else {
                    0.0
                };
            best = best.min(cut);
        }
        best
    }
}

impl Family for Torus3d {
    fn server_count(&self) -> u32 {
        self.addresses.servers()
    }

    fn server_ports(&self) -> u32 {
        self.degree()
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        Vec::new()
    }

    fn level_label(&self, level: u8) -> String {
        format!("Along {}", AXES[usize::from(level).min(2)])
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![GIGABIT]
    }

    fn links_at_level(&self) -> Vec<u64> {
        let servers = u64::from(self.server_count());
        (0..self.axes)
            .map(|axis| match self.sizes[axis] {
                1 => 0,
                2 => servers / 2,
                _ => servers,
            })
            .collect()
    }

    fn wire(&self, links: &mut Links) {
        let servers = self.server_count();
        for axis in 0..self.axes {
            let (size, stride, plus) = (
                self.sizes[axis],
                self.addresses.stride(axis),
                self.first_port(axis),
            );
            // With two servers in a ring, the same port leads in both directions.
            let minus = if size == 2 { plus } else { plus + 1 };
            if size == 1 {
                continue;
            }
            for server in 0..servers {
                let place = server / stride % size;
                if place + 1 < size {
                    links.push((server, plus), (server + stride, minus), axis as u8, 0);
                }
                if place == 0 && size > 2 {
                    links.push(
                        (server, minus),
                        (server + stride * (size - 1), plus),
                        axis as u8,
                        0,
                    );
                }
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let [x, y, z] = [0, 1, 2].map(|axis| self.addresses.coordinate(node, axis));
        let _ = match self.axes {
            2 => write!(out, "({x},{y})"),
            _ => write!(out, "({x},{y},{z})"),
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        self.read(name).map(|place| self.addresses.server(place))
    }

    fn picture(&self) -> Picture {
        Picture::Planes
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        (0..3).map(|axis| self.addresses.coordinate(node, axis)).collect()
    }

    fn server_port_name(&self, port: u16) -> String {
        for axis in (0..3).rev() {
            if self.addresses.ports_along(axis) > 0 && port >= self.first_port(axis) {
                return format!(
                    "{}{}",
                    AXES[axis],
                    if port == self.first_port(axis) { "+" } else { "-" }
                );
            }
        }
        format!("eth{port}")
    }

    fn expected_degree(&self, _node: NodeId) -> u32 {
        self.degree()
    }

    fn relays(&self) -> bool {
        true
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Hops { links_each: 1 }
    }

    fn transitive(&self) -> bool {
        true
    }

    fn rule(&self) -> String {
        format!(
            "A link joins two servers whose coordinates differ by one, around the ring, along its axis only: the + port \
         of one and the - port of the next {}.",
            self.source
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let (Some(a), Some(b)) = (self.read(link.a), self.read(link.b)) else {
            return false;
        };
        let axis = usize::from(link.level);
        if axis >= self.axes || (0..3).any(|other| other != axis && a[other] != b[other]) {
            return false;
        }
        let size = self.sizes[axis];
        let ports = (
            self.server_port_name(link.a_port),
            self.server_port_name(link.b_port),
        );
        let (plus, minus) = (format!("{}+", AXES[axis]), format!("{}-", AXES[axis]));
        if size == 2 {
            return (a[axis], b[axis]) == (0, 1) && ports == (plus.clone(), plus);
        }
        if a[axis] + 1 == b[axis] {
            ports == (plus, minus)
        } else {
            a[axis] == 0 && b[axis] + 1 == size && ports == (minus, plus)
        }
    }

    fn diameter_links(&self) -> Metric {
        let halves: u32 = self.sizes.iter().map(|size| size / 2).sum();
        Metric::exact(halves, "links", self.source)
    }

    fn metrics(&self, _topology: &Topology) -> StructureMetrics {
        let servers = f64::from(self.server_count());
        // Mean distance around a ring, the server itself included.
        let ring = |size: u32| {
            let m = f64::from(size);
            if size.is_multiple_of(2) {
                m / 4.0
            } else {
                (m * m - 1.0) / (4.0 * m)
            }
        };
        let with_self: f64 = self.sizes.iter().map(|&size| ring(size)).sum();
        let average = |unit| {
            (servers > 1.0).then(|| {
                let mean = Metric::exact(with_self * servers / (servers - 1.0), unit, self.source);
                if self.axes == 2 {
                    return mean;
                }
                mean.with_note(format!(
                    "{with_self:.4} when a server counts as its own partner, as the paper does."
                ))
            })
        };
        let cut = Torus3d::bisection(&self.sizes);
        let long: Vec<u32> = self.sizes.iter().copied().filter(|&size| size > 1).collect();
        let settled = long.iter().all(|&size| size == 2) || long.iter().all(|&size| size > 2);
        let bisection = |value: f64, unit| {
            if settled {
                Metric::exact(value, unit, "[ours]")
            } else {
                Metric::bound(
                    value,
                    unit,
                    "[ours]",
                    "Upper bound: the best cut by whole planes.",
                )
            }
        };
        let degree = f64::from(self.degree());
        let hops = self.diameter_links().value;
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: Metric::exact(hops, "hops", self.source),
            diameter_links: self.diameter_links(),
            average_path: average("hops"),
            average_path_links: average("links"),
            bisection: bisection(cut, "links"),
            bisection_bits_per_sec: bisection(cut * GIGABIT, "bit/s"),
            disjoint_paths: Metric::exact(degree, "paths", "[ours]").with_note(match self.axes {
                2 => "As many as a server has links.",
                _ => "As many as a server has links; CamCube's own routing promises at least 3.",
            }),
            all_to_all_throughput: None,
            server_ports: Metric::exact(degree, "ports", self.source),
            wires: Metric::exact(wires as f64, "links", self.source),
            switch_ports_used: None,
        }
    }
}

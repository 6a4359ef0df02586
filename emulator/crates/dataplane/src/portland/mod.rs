//! PortLand on ServerSwitch, with real packets `[serverswitch §3.2.2, §3.3.2]`: the 20 switches of
//! a fat-tree of four ports are chips in the kernel, and hosts speak plain Ethernet, ARP and IPv4.
//! The addresses, programs and the fabric manager are `cubeyard_chip::portland`, which also runs in
//! virtual time.
//!
//! Our choices: switches detect a failed neighbour by its carrier, or by missing hellos; the CPUs
//! send messages to the fabric manager over a separate network, which in a run has no delay and no
//! loss.

use std::collections::BTreeSet;

use cubeyard_chip::portland::{Control, Effects as Found, News};
use cubeyard_chip::{EXTERNAL_PORTS, Mac};
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::catalog::{HELLOS, NONE, ProtocolEntry, SwitchKind};
use crate::chip_tables::{SCHEMAS, programmed};
use crate::configuration::ConfigurationError;
use crate::event::{Event, NamedCell};
use crate::inspection::{Cell, ColumnKind, Section};
use crate::object::{KernelObject, OwnTables};
use crate::switch_control::{ChipSwitches, Effects, SwitchControl};

/// Type of ARP's frames `[rfc 826]`.
const ARP: u16 = 0x0806;

/// PortLand in the catalogue.
pub const ENTRY: ProtocolEntry = ProtocolEntry {
    name: "portland",
    title: "PortLand on ServerSwitch",
    description: "Switches are ServerSwitch chips and forward by the place of a host, which the edge puts in its MAC's place; a \
        fabric manager answers ARP and leads around what has failed.",
    families: &[],
    max_switch_ports: EXTERNAL_PORTS as u32,
    switches: SwitchKind::Chip,
    chips: Some(ChipSwitches {
        object: KernelObject {
            bytes: crate::include_object!("../../../../bpf/serverswitch/serverswitch.bpf.o"),
            virtual_nic: None,
            port: "serverswitch_chip",
            own_tables: Some(OwnTables {
                schemas: SCHEMAS,
                translate: programmed,
                question: |_| None,
                from_programs: None,
            }),
        },
        cpu_frames: ARP,
        control,
    }),
    routing: "ecmp",
    settings: &HELLOS,
    check,
    ..NONE
};

const HOSTS: &[(&str, &str, ColumnKind)] = &[
    ("port", "Port", ColumnKind::Port),
    ("address", "Address", ColumnKind::Text),
    ("mac", "MAC", ColumnKind::Text),
    ("pmac", "PMAC", ColumnKind::Text),
    ("state", "State", ColumnKind::Text),
];

/// Whether a topology can run PortLand: a chip has four ports.
fn check(spec: &TopologySpec) -> Result<(), ConfigurationError> {
    let wrong = |field: &str, value: String, limit: &str, fix: &str| ConfigurationError {
        field: field.to_owned(),
        value,
        limit: limit.to_owned(),
        fix: fix.to_owned(),
    };
    let topology = Topology::build(spec).map_err(|error| {
        let limit = "a topology that can be built";
        wrong("spec", error.to_string(), limit, "See its findings.")
    })?;
    let control = Control::new();
    let of_tree = control.tree().topology();
    if topology.spec().family() != of_tree.spec().family() {
        let fix = "Take a fat-tree of ports 4 and layers 3, or the protocol of this family.";
        return Err(wrong("spec.family", spec.family().to_owned(), "fat_tree", fix));
    }
    let same = topology.server_count() == of_tree.server_count()
        && topology.node_count() == of_tree.node_count()
        && topology.links().a == of_tree.links().a
        && topology.links().b == of_tree.links().b;
    if !same {
        let given = format!(
            "{} servers, {} nodes",
            topology.server_count(),
            topology.node_count()
        );
        let limit = "a whole fat-tree of ports 4 and layers 3: a chip has four ports";
        return Err(wrong("spec.ports", given, limit, "Take ports 4 and layers 3."));
    }
    Ok(())
}

/// A MAC with spaces between its bytes, as values of entries are displayed.
fn octets(mac: Mac) -> String {
    mac.0.map(|byte| format!("{byte:02x}")).join(" ")
}

fn control(spec: &TopologySpec) -> Result<Box<dyn SwitchControl>, ConfigurationError> {
    check(spec)?;
    Ok(Box::new(Control::new()))
}

fn event(news: News) -> Event {
    let what = if news.is_silent {
        "host-silent"
    } else {
        "host-back"
    };
    Event::Reported {
        what: what.to_owned(),
        cells: vec![NamedCell {
            name: "host".to_owned(),
            kind: ColumnKind::Server,
            value: Cell::Count(news.host.into()),
        }],
    }
}

fn effects(found: Found) -> Effects {
    let news = found.news.into_iter();
    Effects {
        frames: found.frames,
        changed: found.changed,
        events: news.map(|item| (item.edge, event(item))).collect(),
    }
}

impl SwitchControl for Control {
    fn program(&self, switch: NodeId) -> String {
        self.program_of(switch)
    }

    fn on_frame(&mut self, switch: NodeId, port: u8, frame: &[u8]) -> Effects {
        effects(self.on_packet(switch, port, frame))
    }

    fn look(&mut self, packets: &dyn Fn(NodeId, u8) -> u64) -> Effects {
        effects(Control::look(self, packets))
    }

    fn on_failures(&mut self, links: &BTreeSet<(NodeId, NodeId)>) -> Effects {
        effects(Control::on_failures(self, links))
    }

    fn path(&self, ends: [NodeId; 2], source_port: u16) -> Vec<NodeId> {
        Control::path(self, ends, source_port)
    }

    fn inspect(&self, switch: NodeId) -> Vec<Section> {
        let hosts = self.hosts_of(switch);
        if hosts.is_empty() {
            return Vec::new();
        }
        let rows = hosts.into_iter().map(|host| {
            let state = if host.is_silent { "silent" } else { "answers" };
            vec![
                Cell::Count(host.port.into()),
                Cell::Text(host.address.to_string()),
                Cell::Text(octets(host.mac)),
                Cell::Text(octets(host.pmac.mac())),
                Cell::Text(state.to_owned()),
            ]
        });
        vec![Section::new(
            "portland-hosts",
            "Hosts of this edge switch",
            HOSTS,
            rows,
        )]
    }
}

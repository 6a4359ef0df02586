//! Cable labels in the style of TIA-606: `rack-unit:port/rack-unit:port`, near end first, mirrored at the far end.
//!
//! Where devices stand side by side in a unit, a letter counted from the left follows the unit: `R07-12B:P3`.

use std::fmt::Write as _;

use cubeyard_topology::{NodeId, Topology};

use crate::layout::Layout;

/// Appends the label of one port.
pub fn write_port_label(topology: &Topology, layout: &Layout, node: NodeId, port: u16, out: &mut String) {
    let (v, placements) = (node as usize, &layout.placements);
    out.push_str(&layout.racks.name[placements.rack[v] as usize]);
    out.push('-');
    if placements.unit[v] == 0 {
        // Not placed (an error finding says so): the device's name keeps the label unique.
        topology.write_name(node, out);
    } else {
        let _ = write!(out, "{:02}", placements.unit[v]);
        if placements.slots[v] > 1 {
            write_slot(placements.slot[v], out);
        }
    }
    out.push(':');
    out.push_str(&topology.port_name(node, port));
}

/// A, B, ... Z, AA, AB, ...
pub fn write_slot(slot: u8, out: &mut String) {
    if slot >= 26 {
        out.push(char::from(b'A' + slot / 26 - 1));
    }
    out.push(char::from(b'A' + slot % 26));
}

/// Appends the label at one end of a cable: `near_a` at end a, otherwise at end b.
pub fn write_label(topology: &Topology, layout: &Layout, link: usize, near_a: bool, out: &mut String) {
    let links = topology.links();
    let (a, b) = (
        (links.a[link], links.a_port[link]),
        (links.b[link], links.b_port[link]),
    );
    let (near, far) = if near_a { (a, b) } else { (b, a) };
    write_port_label(topology, layout, near.0, near.1, out);
    out.push('/');
    write_port_label(topology, layout, far.0, far.1, out);
}

/// The label at one end of a cable.
pub fn label(topology: &Topology, layout: &Layout, link: usize, near_a: bool) -> String {
    let mut out = String::with_capacity(24);
    write_label(topology, layout, link, near_a, &mut out);
    out
}

//! Cable labels in the style of TIA-606: `rack-unit:port/rack-unit:port`, near end first, mirrored
//! at the far end.
//!
//! Where devices stand side by side in a unit, a letter counted from the left follows the unit:
//! `R07-12B:P3`.

use std::fmt::Write as _;

use cubeyard_topology::{NodeId, Topology};

use super::breakouts::{Breakout, Breakouts};
use crate::layout::Layout;

/// Appends the label of one port.
pub fn write_port_label(topology: &Topology, layout: &Layout, node: NodeId, port: u16, out: &mut String) {
    let (v, placements) = (node as usize, &layout.placements);
    out.push_str(&layout.racks.name[placements.rack[v] as usize]);
    out.push('-');
    if placements.unit[v] == 0 {
        // The device was not placed (which is an error finding): its name keeps the label unique.
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

/// Appends the label of a breakout's trunk: the first and the last of its ports.
fn write_trunk_label(topology: &Topology, layout: &Layout, cable: &Breakout, out: &mut String) {
    let links = topology.links();
    let port = |link: u32| {
        let link = link as usize;
        if cable.trunk_is_a {
            (links.a[link], links.a_port[link])
        } else {
            (links.b[link], links.b_port[link])
        }
    };
    let (Some(&first), Some(&last)) = (cable.links.first(), cable.links.last()) else {
        return;
    };
    let (node, near) = port(first);
    write_port_label(topology, layout, node, near, out);
    if last != first {
        out.push('-');
        out.push_str(&topology.port_name(node, port(last).1));
    }
}

/// Appends the label at one end of a cable: `near_a` at end a, otherwise at end b. At a breakout's
/// trunk it is the same for all its links: `R07-12:P0-P3/R15-36:P7+3`, the far end of the first leg
/// and how many follow.
pub fn write_label(
    topology: &Topology,
    layout: &Layout,
    breakouts: &Breakouts,
    link: usize,
    near_a: bool,
    out: &mut String,
) {
    let links = topology.links();
    let end = |link: usize, at_a: bool| {
        if at_a {
            (links.a[link], links.a_port[link])
        } else {
            (links.b[link], links.b_port[link])
        }
    };
    match breakouts.of(link) {
        Some((cable, _)) if cable.trunk_is_a == near_a => {
            let first = cable.links.first().map_or(link, |&first| first as usize);
            let far = end(first, !near_a);
            write_trunk_label(topology, layout, cable, out);
            out.push('/');
            write_port_label(topology, layout, far.0, far.1, out);
            if cable.links.len() > 1 {
                let _ = write!(out, "+{}", cable.links.len() - 1);
            }
        }
        _ => {
            let (near, far) = (end(link, near_a), end(link, !near_a));
            write_port_label(topology, layout, near.0, near.1, out);
            out.push('/');
            write_port_label(topology, layout, far.0, far.1, out);
        }
    }
}

/// The label at one end of a cable.
pub fn label(
    topology: &Topology,
    layout: &Layout,
    breakouts: &Breakouts,
    link: usize,
    near_a: bool,
) -> String {
    let mut out = String::with_capacity(24);
    write_label(topology, layout, breakouts, link, near_a, &mut out);
    out
}

//! A switch's program: prefixes of PMACs in the TCAM, PMACs and MACs in the interface table
//! `[serverswitch §3.3.2]`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use cubeyard_topology::NodeId;

use super::host::ARP;
use super::tree::{PORTS, Tree};
use crate::entries::{Mac, hex};

/// A host's address in the fabric: `pod.position.port.vmid`, 16, 8, 8 and 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pmac {
    /// The pod of the edge switch.
    pub pod: u16,
    /// The position of the edge switch in the pod.
    pub position: u8,
    /// The port of the host at the edge switch.
    pub port: u8,
    /// Number of the host at the port, from 1.
    pub vmid: u16,
}

impl Pmac {
    /// The PMAC as a MAC address.
    pub fn mac(self) -> Mac {
        let ([a, b], [e, f]) = (self.pod.to_be_bytes(), self.vmid.to_be_bytes());
        Mac([a, b, self.position, self.port, e, f])
    }
}

impl fmt::Display for Pmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mac().fmt(f)
    }
}

/// A host at a port of an edge switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The host's own MAC.
    pub mac: Mac,
    /// The host's PMAC.
    pub pmac: Pmac,
}

/// Bytes of the second key: the port, the destination, and the flow's ports.
const KEY_BYTES: usize = 11;
/// First index of entries for hosts, and of those for ARP: above those for prefixes.
const HOSTS_AT: usize = 500;
const ARP_AT: usize = 1000;
/// First index of entries for hellos between switches.
const HELLO_AT: usize = 1100;
/// Type of Ethernet frames by which neighbours find that a link or switch has failed: one for local
/// experiments, in the place of PortLand's location discovery `[IEEE 802, clause 9.2.4]`.
const HELLO: u16 = 0x88b5;
/// Interfaces: a port as it is, then of each host with its MAC, then of each host's way up with its
/// PMAC.
const TO_HOST: u8 = 4;
const FROM_HOST: u8 = 8;

struct Tables {
    text: String,
    index: usize,
}

impl Tables {
    /// An entry on the second key: bytes that are looked at, with their masks.
    fn entry(&mut self, looked_at: &[(usize, &[u8], &[u8])], action: &str) {
        let (mut value, mut mask) = ([0; KEY_BYTES], [0; KEY_BYTES]);
        for (at, bytes, cares) in looked_at {
            value[*at..*at + bytes.len()].copy_from_slice(bytes);
            mask[*at..*at + cares.len()].copy_from_slice(cares);
        }
        let (i, value, mask) = (self.index, hex(&value), hex(&mask));
        // Writing to text does not fail.
        let _ = writeln!(
            self.text,
            "SetLookupTable(TCAM, {i}, 2, \"{value}\", \"{mask}\", {{{action}}});"
        );
        self.index += 1;
    }

    fn vif(&mut self, i: u8, dmac: Option<Mac>, smac: Option<Mac>, port: u8) {
        let quoted = |mac: Option<Mac>| mac.map_or("NULL".to_owned(), |mac| format!("\"{mac}\""));
        let _ = writeln!(
            self.text,
            "SetVIfTable({i}, {}, {}, {port});",
            quoted(dmac),
            quoted(smac)
        );
    }
}

/// The bit of a flow's source port by which a switch divides flows over two ways: another one in
/// each layer.
fn bit_of(tree: &Tree, switch: NodeId) -> u8 {
    1 << tree.layer(switch)
}

/// The port by which a switch sends a flow towards an edge switch, according to its program.
pub fn chosen_way(tree: &Tree, switch: NodeId, edge: NodeId, source_port: u16) -> Option<u8> {
    let ways = tree.ways(switch, edge);
    let is_set = source_port as u8 & bit_of(tree, switch) != 0;
    // The second way counts where the bit is set.
    ways.get(usize::from(is_set)).or(ways.first()).copied()
}

/// The program of a switch, as text. `known` are the hosts at an edge switch by port.
pub fn program(tree: &Tree, switch: NodeId, known: &BTreeMap<u8, Known>) -> String {
    let head =
        "WriteRegister(L3_ENABLE, 0);\nSetUDLK(1, (INPORT, B12-13));\nSetUDLK(2, (INPORT, B0-5, B34-37));\n";
    let mut tables = Tables {
        text: head.to_owned(),
        index: 0,
    };
    (0..PORTS).for_each(|port| tables.vif(port, None, None, port));
    for (&port, host) in known {
        tables.vif(TO_HOST + port, Some(host.mac), None, port);
        for out in 0..PORTS {
            let to = known.get(&out).map(|other| other.mac);
            tables.vif(FROM_HOST + port * PORTS + out, to, Some(host.pmac.mac()), out);
        }
    }
    let is_edge = tree.layer(switch) == 0;
    let bit = bit_of(tree, switch);
    for edge in tree.edges().filter(|&edge| edge != switch) {
        let (pod, position) = tree.place(edge);
        let [high, low] = pod.to_be_bytes();
        let (prefix, cares) = ([high, low, position], [0xff; 3]);
        for (turn, out) in (0_u8..).zip(tree.ways(switch, edge)) {
            // The second way has the higher index, and counts where the bit is set.
            let chosen = [if turn == 0 { 0 } else { bit }];
            let looked_at = [(1, &prefix[..], &cares[..]), (8, &chosen, &chosen)];
            if !is_edge {
                tables.entry(&looked_at, &format!("act=REDIRECT_VIF, vif={out}"));
                continue;
            }
            for &port in known.keys() {
                let vif = FROM_HOST + port * PORTS + out;
                let looked_at = [looked_at[0], looked_at[1], (0, &[port], &[0xff])];
                tables.entry(&looked_at, &format!("act=REDIRECT_VIF, vif={vif}"));
            }
        }
    }
    tables.index = HOSTS_AT;
    for (&port, host) in known {
        let whole = [(1, &host.pmac.mac().0[..], &[0xff; 6][..])];
        tables.entry(&whole, &format!("act=REDIRECT_VIF, vif={}", TO_HOST + port));
        for &from in known.keys().filter(|&&from| from != port) {
            let vif = FROM_HOST + from * PORTS + port;
            tables.entry(
                &[whole[0], (0, &[from], &[0xff])],
                &format!("act=REDIRECT_VIF, vif={vif}"),
            );
        }
    }
    let (host_ports, others): (Vec<u8>, Vec<u8>) = (0..PORTS).partition(|&port| {
        tree.end(switch, port)
            .is_some_and(|(next, _)| tree.topology().is_server(next))
    });
    let for_cpu = (host_ports
        .into_iter()
        .zip(ARP_AT..)
        .map(|(port, i)| (port, i, ARP)))
    .chain(
        others
            .into_iter()
            .zip(HELLO_AT..)
            .map(|(port, i)| (port, i, HELLO)),
    );
    for (port, i, kind) in for_cpu {
        let _ = writeln!(
            tables.text,
            "SetLookupTable(TCAM, {i}, 1, \"{port:02x}{kind:04x}\", NULL, {{act=TO_CPU}});"
        );
    }
    tables.text
}

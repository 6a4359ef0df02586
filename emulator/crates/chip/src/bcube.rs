//! BCube on the chip `[serverswitch §5.1, Figs 5, 6]`: the program of every server, and the header
//! that it forwards by.
//!
//! ```text
//! B14  IPv4 header of 20 bytes; TTL (B22) is the index, protocol 253    NHA1 is the last hop's, NHA2 the one's before, …:
//! B34  NHA1 … NHA8                                                      a packet with TTL t goes by NHA(t-1), and one
//! B42  BCube protocol | NH, the number of NHAs | 0 | 0                  arrives with TTL 1
//! B46  payload
//! ```
//!
//! The paper's program has 256 next hops x 8 entries and 12 more, which exceed the TCAM; a server
//! has entries for its own neighbours only, 252 at most (n = 64, k = 3): 2,028 entries. The paper
//! takes "an officially unassigned" protocol number; 253 is for experiments (RFC 3692) `[ours]`.

use std::net::Ipv4Addr;

use cubeyard_routing::bcube::{Hop, Shape};
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::action::{ACTS, RawAction};
use crate::entries::{Mac, Table};
use crate::flaw::Flaw;
use crate::frame::{ETHERNET_BYTES, IPV4, ones_complement_sum};
use crate::profile::EXTERNAL_PORTS;
use crate::program::Program;
use crate::text::Server;
use crate::udlk::Field;

/// IPv4 protocol number of BCube's header.
pub const PROTOCOL: u8 = 253;
/// BCube protocol of data.
pub const DATA: u8 = 0;
/// BCube protocol of neighbour discovery.
pub const ND: u8 = 1;
/// BCube protocol of queries for available bandwidth.
pub const ABQ: u8 = 2;
/// Next hops that the header has room for.
pub const MAX_HOPS: usize = 8;
/// Length of the header, from IPv4's on.
pub const HEADER_BYTES: usize = 32;
/// The paper's program as the text that all servers of a run share.
pub const SHARED: &str = include_str!("../programs/bcube.chip");
/// The same with copies of marked packets for the CPU `[serverswitch §5.2]`.
pub const MARKED: &str = include_str!("../programs/bcube-qcn.chip");
/// Digits that a next hop's six bits name.
const MAX_RADIX: u32 = 64;
/// Servers that three bytes of a MAC and of an address name.
const MAX_SERVERS: u32 = 65_534;

/// The BCube of a specification. Errors: another family, or addresses that exceed one byte per hop.
pub fn shape(spec: &TopologySpec) -> Result<(Topology, Shape), Flaw> {
    let topology = Topology::build(spec).map_err(|error| {
        Flaw::new(
            "bcube-spec",
            "spec",
            "this",
            "a topology that can be built",
            "See its findings.",
        )
        .saying(error.to_string())
    })?;
    let Some(shape) = Shape::new(&topology) else {
        return Err(Flaw::new(
            "bcube-family",
            "spec.family",
            spec.family(),
            "bcube",
            "Take a BCube.",
        ));
    };
    let levels = shape.levels as u32;
    let fix = "A next hop has two bits for the level and six for the digit: take a smaller BCube.";
    if levels > u32::from(EXTERNAL_PORTS) {
        return Err(Flaw::new("bcube-levels", "spec.k", levels - 1, "at most 3", fix));
    }
    let radix = shape.radix.iter().copied().max().unwrap_or(0);
    if radix > MAX_RADIX {
        return Err(Flaw::new("bcube-digits", "spec.n", radix, "at most 64", fix));
    }
    if shape.servers() > MAX_SERVERS {
        let limit = format!("at most {MAX_SERVERS}");
        return Err(Flaw::new(
            "bcube-servers",
            "spec.servers",
            shape.servers(),
            limit,
            "Take a smaller BCube.",
        ));
    }
    Ok((topology, shape))
}

/// The byte that names a next hop `[bcube §7.1]`: two bits for the level at which it differs, six
/// for its digit there.
pub fn nha(level: usize, digit: u32) -> u8 {
    (level as u8) << 6 | digit as u8
}

/// The neighbour that a byte names at a server.
pub fn neighbour(shape: &Shape, server: NodeId, hop: u8) -> NodeId {
    shape.with_digit(server, usize::from(hop >> 6), u32::from(hop & 0x3f))
}

/// A server's address, as in an emulation: `10.0.0.0 + id + 1`.
pub fn address(server: NodeId) -> Ipv4Addr {
    Ipv4Addr::from_bits((10 << 24) + server + 1)
}

/// The MAC of a server's port, locally administered `[ours]`.
pub fn mac(server: NodeId, port: usize) -> Mac {
    let [_, high, middle, low] = server.to_be_bytes();
    Mac([2, 0, high, middle, low, port as u8])
}

/// A neighbour as a server's program has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The byte that names it as a next hop.
    pub hop: u8,
    /// Port towards it, 0 to 3.
    pub port: u8,
    /// MAC of that port.
    pub own_mac: Mac,
    /// MAC of the neighbour's port.
    pub next_mac: Mac,
    /// Whether the neighbour is alive. Packets for a dead one go to the CPU, which reports to their
    /// source `[ours]`.
    pub alive: bool,
}

/// A server of a whole BCube with its neighbours, all alive. Errors: no such server.
pub fn server(shape: &Shape, server: NodeId) -> Result<Server, Flaw> {
    if server >= shape.servers() {
        let limit = format!("less than {}", shape.servers());
        return Err(Flaw::new(
            "bcube-server",
            "server",
            server,
            limit,
            "Take a server of this BCube.",
        ));
    }
    let mut neighbours = Vec::new();
    for level in 0..shape.levels {
        for digit in 0..shape.radix[level] {
            if digit == shape.digit(server, level) {
                continue;
            }
            neighbours.push(Neighbour {
                hop: nha(level, digit),
                port: level as u8,
                own_mac: mac(server, level),
                next_mac: mac(shape.with_digit(server, level, digit), level),
                alive: true,
            });
        }
    }
    let address = address(server);
    Ok(Server { address, neighbours })
}

/// The program of one server of a whole BCube.
pub fn program(shape: &Shape, id: NodeId) -> Result<Program, Flaw> {
    let Server { address, neighbours } = server(shape, id)?;
    program_of(address, &neighbours)
}

/// The program of a server with these neighbours, Fig. 6 line by line with `val` and `mask` cleared
/// before each entry.
pub fn program_of(own: Ipv4Addr, neighbours: &[Neighbour]) -> Result<Program, Flaw> {
    let mut program = Program::default();
    program.set_udlk(1, vec![Field::Bytes(22, 25), Field::Bytes(34, 41)])?;
    program.set_udlk(2, vec![Field::InPort, Field::Bytes(30, 33), Field::Bytes(42, 45)])?;
    let mut next = 0;
    let mut set = |program: &mut Program, iudlk: u64, value: &[u8], mask: &[u8], action: &RawAction| {
        program.set_lookup_table(Table::Tcam, next, iudlk, value, Some(mask), action)?;
        next += 1;
        Ok::<(), Flaw>(())
    };
    for neighbour in neighbours {
        let (dmac, smac) = (neighbour.next_mac.0, neighbour.own_mac.0);
        program.set_vif_table(
            neighbour.hop.into(),
            Some(&dmac),
            Some(&smac),
            neighbour.port.into(),
        )?;
        let action = if neighbour.alive {
            RawAction {
                act: ACTS[0].to_owned(),
                vif: Some(neighbour.hop.into()),
                ..RawAction::default()
            }
        } else {
            RawAction {
                act: ACTS[5].to_owned(),
                ..RawAction::default()
            }
        };
        for index in 0..MAX_HOPS {
            let (mut value, mut mask) = ([0; 12], [0; 12]);
            (value[0], mask[0]) = (index as u8 + 2, 0xff);
            (value[4 + index], mask[4 + index]) = (neighbour.hop, 0xff);
            set(&mut program, 1, &value, &mask, &action)?;
        }
    }
    for port in 0..EXTERNAL_PORTS {
        let action = RawAction {
            act: ACTS[1].to_owned(),
            port: Some(u64::from(port) + 4),
            ..RawAction::default()
        };
        let (mut value, mut mask) = ([0; 9], [0; 9]);
        (value[0], mask[0]) = (port, 0xff);
        let (mut to_own, mut whole) = (value, mask);
        to_own[1..5].copy_from_slice(&own.octets());
        whole[1..5].fill(0xff);
        set(&mut program, 2, &to_own, &whole, &action)?;
        for protocol in [ND, ABQ] {
            (value[5], mask[5]) = (protocol, 0xff);
            set(&mut program, 2, &value, &mask, &action)?;
        }
    }
    Ok(program)
}

/// The packet that a source hands to its chip for a path of `hops`: TTL and NHAs as in Fig. 5.
/// Errors: no hop, or more than eight.
pub fn packet(source: NodeId, hops: &[Hop], shape: &Shape, payload: &[u8]) -> Result<Vec<u8>, Flaw> {
    let end = hops.last().map_or(source, |hop| hop.server);
    let names: Vec<u8> = hops
        .iter()
        .map(|hop| nha(hop.level.into(), shape.digit(hop.server, hop.level.into())))
        .collect();
    let mut bytes = vec![0; ETHERNET_BYTES];
    bytes[6..12].copy_from_slice(&mac(source, 0).0);
    bytes[12..14].copy_from_slice(&IPV4.to_be_bytes());
    bytes.extend_from_slice(&header(address(source), address(end), &names, payload.len())?);
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

/// The header before `payload_bytes`, for a path along the next hops that bytes name, the first one
/// first. Errors: no hop, or more than eight.
pub fn header(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    hops: &[u8],
    payload_bytes: usize,
) -> Result<[u8; HEADER_BYTES], Flaw> {
    if hops.is_empty() || hops.len() > MAX_HOPS {
        let fix = "The header has room for eight next hops.";
        return Err(Flaw::new("bcube-hops", "path", hops.len(), "1 to 8 hops", fix));
    }
    let mut ip = [0; HEADER_BYTES];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((HEADER_BYTES + payload_bytes) as u16).to_be_bytes());
    ip[6] = 0x40;
    (ip[8], ip[9]) = (hops.len() as u8 + 1, PROTOCOL);
    ip[12..16].copy_from_slice(&source.octets());
    ip[16..20].copy_from_slice(&destination.octets());
    let checksum = !ones_complement_sum(&ip[..20]);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    for (at, hop) in hops.iter().rev().enumerate() {
        ip[20 + at] = *hop;
    }
    (ip[28], ip[29]) = (DATA, hops.len() as u8);
    Ok(ip)
}

//! The layout of the chip's maps in the kernel, byte for byte as in `bpf/serverswitch/chip.h`, and
//! the conversion of a compiled program to it.

use crate::wire_form::Part;
use cubeyard_chip::compile::{CARES, Compiled, CompiledEntry, CompiledKey, KEY_ROOM};
use cubeyard_chip::{Forward, Mpls, Table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Entries of the TCAM `[serverswitch §4.1]`.
pub const TCAM_ENTRIES: usize = Table::Tcam.size();
/// Number of entries in all tables of exact matches.
pub const EXACT_ENTRIES: usize = Table::EmMac.size() + Table::EmIpv4.size() + Table::EmMpls.size();
/// Maximum number of prefixes.
pub const PREFIX_ENTRIES: usize = Table::LpmIpv4.size();
/// The keys of a program: an entry of `chip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Keys {
    pub(super) sources: [u8; 2 * KEY_ROOM],
    pub(super) cares: [u8; CARES],
    pub(super) reserved: [u8; 2],
    pub(super) care_count: u32,
    pub(super) tuple_count: u32,
    pub(super) parsed_bytes: u32,
    pub(super) flags: u32,
}

/// A key with its mask: an entry of `tuples`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Tuple {
    pub(super) mask: [u64; 3],
    pub(super) key: u32,
    pub(super) best: u32,
}

/// A key of `tcam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TcamKey {
    pub(super) masked: [u64; 3],
    pub(super) tuple: u32,
    pub(super) generation: u32,
}

/// A key of `exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ExactKey {
    pub(super) value: [u8; 6],
    pub(super) table: u8,
    pub(super) generation: u8,
}

/// A key of `prefixes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PrefixKey {
    pub(super) bits: u32,
    pub(super) generation: [u8; 4],
    pub(super) destination: [u8; 4],
}

/// An entry of `tcam`, `exact` or `prefixes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Entry {
    pub(super) index: u32,
    pub(super) act: u8,
    pub(super) port: u8,
    pub(super) vif: u16,
    pub(super) mirror: u8,
    pub(super) dscp: u8,
    pub(super) count_up: u8,
    pub(super) mpls: u8,
    pub(super) label: u32,
    pub(super) hits: u64,
}

/// An entry of `interfaces`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Interface {
    pub(super) dmac: [u8; 6],
    pub(super) smac: [u8; 6],
    pub(super) sets_dmac: u8,
    pub(super) sets_smac: u8,
    pub(super) port: u8,
    pub(super) set: u8,
}

/// A copy for the CPU: a record of the ring `punts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Punt {
    /// Time on the monotonic clock.
    pub at_nanos: u64,
    /// Length of the packet.
    pub bytes: u32,
    /// The port of arrival.
    pub in_port: u8,
    /// The port of the CPU that gets the copy.
    pub port: u8,
    /// The port by which the packet departs.
    pub out_port: u8,
    /// Number of valid bytes in `data`.
    pub taken: u8,
    /// The host's processor that forwarded the packet.
    pub processor: u32,
    pub(super) reserved: u32,
    /// The packet's first bytes.
    pub data: [u8; 128],
}

/// How often a source marks packets that it sends by a port: an entry of `marking`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Marking {
    pub(super) left: i64,
    pub(super) period: u32,
    pub(super) reserved: u32,
}

/// The CPU's data about a server's chip: the only entry of `cpu`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CpuSide {
    /// Cookie of the socket by which users' programs send; 0 without one.
    pub socket: u64,
    pub(super) due: u64,
    /// Number of lost packets for users' programs.
    pub lost: u64,
}

/// The start of a record in the ring `packets`: a packet for users' programs, or the report that
/// one of their packets was discarded. The packet follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PacketHead {
    /// Number of packets lost so far.
    pub lost: u64,
    /// Number of bytes that follow; 0 if a packet of the CPU was discarded.
    pub bytes: u32,
    /// The port of the CPU that gets the packet, or that the packet came from.
    pub port: u8,
    /// Why the packet was discarded: an index in [`cubeyard_chip::DiscardReason::ALL`].
    pub reason: u8,
    /// The kind of record, one of [`PARTS`].
    pub part: u8,
    /// For a part: the number of earlier parts.
    pub number: u8,
    /// For a part: the bytes of data in earlier parts.
    pub offset: u32,
    pub(super) reserved: u32,
}

/// The kinds of records in the ring `packets`, as in `chip.h`: a whole packet, or one of several
/// packets that the kernel carries as one; then each has the headers of all.
pub const PARTS: [(&str, u8); 3] = [("CHIP_WHOLE", 0), ("CHIP_PART", 1), ("CHIP_LAST_PART", 2)];

impl PacketHead {
    /// Which of several packets this is; `None` for a single packet.
    pub fn of_several(&self) -> Option<Part> {
        (self.part != PARTS[0].1).then_some(Part {
            number: self.number,
            offset: self.offset,
            is_last: self.part == PARTS[2].1,
        })
    }

    /// Splits a record into its head and the rest; `None` if it is too short.
    pub fn read(record: &[u8]) -> Option<(PacketHead, &[u8])> {
        PacketHead::read_from_prefix(record).ok()
    }
}

/// Length of the ring `packets`, in bytes.
pub const PACKET_RING_BYTES: usize = 256 * 1024;

/// Values of an [`Entry`]'s act, as in `chip.h`.
pub const ACTS: [(&str, u8); 6] = [
    ("CHIP_REDIRECT_VIF", 0),
    ("CHIP_REDIRECT_PORT", 1),
    ("CHIP_TO_CPU", 2),
    ("CHIP_DISCARD", 3),
    ("CHIP_DUPLICATE", 4),
    ("CHIP_MIRROR", 5),
];
/// Flags of [`Keys`]: the switches, and which tables have entries.
pub const FLAGS: [(&str, u32); 7] = [
    ("CHIP_MISS_TO_CPU", 1),
    ("CHIP_L3", 2),
    ("CHIP_MPLS", 4),
    ("CHIP_HAS_MAC", 8),
    ("CHIP_HAS_IPV4", 16),
    ("CHIP_HAS_LABEL", 32),
    ("CHIP_HAS_PREFIX", 64),
];
pub(super) const MISS_TO_CPU: u32 = FLAGS[0].1;
pub(super) const L3: u32 = FLAGS[1].1;
pub(super) const MPLS: u32 = FLAGS[2].1;
/// Flag next to the label of an [`Entry`]: a call of a user's program has set the entry.
pub const OF_CALL: u32 = 0x8000_0000;
/// The numbers of tables in [`ExactKey`], and the tables' flags.
pub const EXACT_TABLES: [(&str, Table, u8, u32); 3] = [
    ("CHIP_TABLE_MAC", Table::EmMac, 1, FLAGS[3].1),
    ("CHIP_TABLE_IPV4", Table::EmIpv4, 2, FLAGS[4].1),
    ("CHIP_TABLE_LABEL", Table::EmMpls, 3, FLAGS[5].1),
];
const HAS_PREFIX: u32 = FLAGS[6].1;

impl Keys {
    pub(super) fn of(program: &Compiled) -> Keys {
        let mut cares = [0; CARES];
        for (place, care) in cares.iter_mut().zip(&program.cares) {
            *place = care.place;
        }
        Keys {
            sources: program.sources,
            cares,
            reserved: [0; 2],
            care_count: program.cares.len() as u32,
            tuple_count: program.tuples.len() as u32,
            parsed_bytes: program.parsed_bytes,
            flags: flags(program),
        }
    }
}

fn flags(program: &Compiled) -> u32 {
    let [l3, mpls, miss_to_cpu] = program.switches;
    let of_key = |key: CompiledKey| match key {
        CompiledKey::Tcam(..) => 0,
        CompiledKey::Prefix(..) => HAS_PREFIX,
        CompiledKey::Exact(table, _) => exact_table(table).1,
    };
    let switches = [(l3, L3), (mpls, MPLS), (miss_to_cpu, MISS_TO_CPU)];
    let on = switches.iter().filter(|(on, _)| *on).map(|(_, flag)| *flag);
    on.chain(program.entries.iter().map(|entry| of_key(entry.key)))
        .fold(0, |flags, flag| flags | flag)
}

/// Number and flag of an exact-match table.
fn exact_table(table: Table) -> (u8, u32) {
    let entry = EXACT_TABLES.iter().find(|(_, item, ..)| *item == table);
    entry.map_or((0, 0), |(.., number, flag)| (*number, *flag))
}

/// The table for a key, the map with that table, and the encoded key.
pub(super) fn key_in(generation: u32, key: CompiledKey) -> (Table, &'static str, Vec<u8>) {
    match key {
        CompiledKey::Tcam(tuple, masked) => {
            let key = TcamKey {
                masked,
                tuple,
                generation,
            };
            (Table::Tcam, "tcam", key.as_bytes().to_vec())
        }
        CompiledKey::Exact(table, value) => {
            let key = ExactKey {
                value,
                table: exact_table(table).0,
                generation: generation as u8,
            };
            (table, "exact", key.as_bytes().to_vec())
        }
        CompiledKey::Prefix(length, destination) => {
            let key = PrefixKey {
                bits: 32 + u32::from(length),
                generation: generation.to_be_bytes(),
                destination,
            };
            (Table::LpmIpv4, "prefixes", key.as_bytes().to_vec())
        }
    }
}

impl Entry {
    /// Encodes an entry. `hits` is its counter so far; `of_call` marks an entry that a user's call
    /// has set.
    pub(super) fn of(entry: &CompiledEntry, of_call: bool, hits: u64) -> Entry {
        let action = &entry.action;
        let (act, port, vif) = match action.forward {
            Forward::Vif(vif) => (0, 0, vif),
            Forward::Port(port) => (1, port, 0),
            Forward::ToCpu => (2, 0, 0),
            Forward::Discard => (3, 0, 0),
            Forward::Duplicate(set) => (4, set, 0),
            Forward::Mirror(port) => (5, port, 0),
        };
        let (mpls, label) = match action.mpls {
            None => (0, 0),
            Some(Mpls::Push(label)) => (1, label),
            Some(Mpls::Pop) => (2, 0),
            Some(Mpls::Swap(label)) => (3, label),
        };
        let one_more = |value: Option<u8>| value.map_or(0, |value| value + 1);
        Entry {
            index: entry.index,
            act: ACTS[act].1,
            port,
            vif,
            mirror: one_more(action.mirror),
            dscp: one_more(action.dscp),
            count_up: one_more(action.count_up),
            mpls,
            label: label | if of_call { OF_CALL } else { 0 },
            hits,
        }
    }
}

//! The five-tuple of a flow, used as its key in the kernel, in user space and on the page.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A five-tuple, byte for byte `struct cy_flow` of `bpf/common/cubeyard.h`.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Serialize,
    Deserialize,
)]
#[repr(C)]
#[serde(from = "FiveTuple", into = "FiveTuple")]
pub struct Flow {
    /// The source address.
    pub src: [u8; 4],
    /// The destination address.
    pub dst: [u8; 4],
    /// Source port in network order; 0 for fragments and for protocols without ports.
    pub sport: [u8; 2],
    /// Destination port in network order; 0 for fragments and for protocols without ports.
    pub dport: [u8; 2],
    /// The IP protocol number.
    pub proto: u8,
    /// Reserved, always zero.
    pub reserved: [u8; 3],
}

impl Flow {
    /// Creates a flow; ports are 0 for protocols without ports.
    pub fn new(src: Ipv4Addr, dst: Ipv4Addr, proto: u8, sport: u16, dport: u16) -> Flow {
        Flow {
            src: src.octets(),
            dst: dst.octets(),
            sport: sport.to_be_bytes(),
            dport: dport.to_be_bytes(),
            proto,
            reserved: [0; 3],
        }
    }

    /// The source port.
    pub fn source_port(&self) -> u16 {
        u16::from_be_bytes(self.sport)
    }

    /// The destination port.
    pub fn destination_port(&self) -> u16 {
        u16::from_be_bytes(self.dport)
    }
}

/// The JSON form of a flow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FiveTuple {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    proto: u8,
    #[serde(default)]
    sport: u16,
    #[serde(default)]
    dport: u16,
}

impl From<FiveTuple> for Flow {
    fn from(tuple: FiveTuple) -> Flow {
        Flow::new(tuple.src, tuple.dst, tuple.proto, tuple.sport, tuple.dport)
    }
}

impl From<Flow> for FiveTuple {
    fn from(flow: Flow) -> FiveTuple {
        FiveTuple {
            src: flow.src.into(),
            dst: flow.dst.into(),
            proto: flow.proto,
            sport: flow.source_port(),
            dport: flow.destination_port(),
        }
    }
}

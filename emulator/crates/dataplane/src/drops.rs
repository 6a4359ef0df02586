//! Why a packet was dropped: one numbered list of reasons for all forwardings, in the kernel and in
//! user space, and for metrics.

use std::fmt;

/// Declares the enum, the names and the list of all reasons together.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal;)*) => {
        /// Why a packet was dropped. The numbers are those of `enum cy_drop` in
        /// `bpf/common/cubeyard.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum DropReason {
            $($(#[$doc])* $variant = $number,)*
        }

        impl DropReason {
            /// All reasons in the order of their numbers, which have no gap.
            pub const ALL: &[DropReason] = &[$(DropReason::$variant,)*];

            /// The reason's name in metrics and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(DropReason::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    /// Too short, not IPv4, or a header of unexpected form.
    Malformed = 0, "malformed";
    /// The header's checksum is wrong.
    BadChecksum = 1, "bad-checksum";
    /// The next hop index or the count of hops is out of bounds.
    BadIndex = 2, "bad-index";
    /// The header names a next hop that is not a neighbour.
    UnknownNextHop = 3, "unknown-next-hop";
    /// The next hop is a neighbour that is down; user space is notified.
    NextHopDead = 4, "next-hop-dead";
    /// The time to live is zero.
    TtlExpired = 5, "ttl-expired";
    /// The path ends here, but the destination is another server.
    NotMine = 6, "not-mine";
    /// A packet that arrived at a port claims this server as its source: it loops or is forged.
    OwnSource = 7, "own-source";
    /// The inner packet's addresses do not match the header's, or the sender must not use them.
    Forged = 8, "forged";
    /// An IP packet at a port that is neither the protocol's nor control traffic.
    Foreign = 9, "foreign";
    /// A packet from the virtual NIC that is not IPv4.
    NotIp = 10, "not-ip";
    /// No path to the destination is known.
    NoPath = 11, "no-path";
    /// With the protocol's header, longer than the ports' MTU.
    TooBig = 12, "too-big";
    /// The kernel could not insert or remove space for the header.
    AdjustFailed = 13, "adjust-failed";
    /// The kernel refused to redirect the packet.
    RedirectFailed = 14, "redirect-failed";
    /// The server has no address yet.
    Unconfigured = 15, "unconfigured";
    /// A frame for another server's hardware address, which a switch flooded.
    OtherHost = 16, "other-host";
    /// A packet from the virtual NIC with IP options, whose space the protocol's header needs.
    IpOptions = 17, "ip-options";
    /// The packet has used all its local reroutes.
    RetriesUsed = 18, "retries-used";
}

impl DropReason {
    /// Number of reasons, which is the length of the map `drops`.
    pub const COUNT: usize = DropReason::ALL.len();

    /// The reason's number, an index of the map `drops`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The reason with this number.
    pub fn from_index(index: usize) -> Option<DropReason> {
        DropReason::ALL.get(index).copied()
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! Why a packet was dropped: one numbered list for every forwarding, in the kernel and in user
//! space, and the metrics.

use std::fmt;

/// Declares the enum, its names and the list of all in one place.
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
            /// Every reason, in the order of its number, without a gap.
            pub const ALL: &[DropReason] = &[$(DropReason::$variant,)*];

            /// The reason's name in metrics and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(DropReason::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    /// Too short, not IPv4, or not the one shape of the protocol's header.
    Malformed = 0, "malformed";
    /// The header's checksum is wrong.
    BadChecksum = 1, "bad-checksum";
    /// The next hop index or the count of hops is out of bounds.
    BadIndex = 2, "bad-index";
    /// The header names a next hop that is no neighbour.
    UnknownNextHop = 3, "unknown-next-hop";
    /// The neighbour is known and down; user space is notified.
    NextHopDead = 4, "next-hop-dead";
    /// The time to live has run out.
    TtlExpired = 5, "ttl-expired";
    /// The path ends here, yet the destination is another server.
    NotMine = 6, "not-mine";
    /// It came in by a port and claims this server as its source: it loops, or is forged.
    OwnSource = 7, "own-source";
    /// The inner packet's addresses do not fit the header's, or are not the sender's to use.
    Forged = 8, "forged";
    /// An IP packet on a port which is neither the protocol's nor control traffic.
    Foreign = 9, "foreign";
    /// From the virtual NIC, and not IPv4.
    NotIp = 10, "not-ip";
    /// No path to the destination is known.
    NoPath = 11, "no-path";
    /// Longer than the ports' MTU with the protocol's header.
    TooBig = 12, "too-big";
    /// The kernel could not make or remove room for the header.
    AdjustFailed = 13, "adjust-failed";
    /// The kernel would not redirect the packet.
    RedirectFailed = 14, "redirect-failed";
    /// The server has no address yet.
    Unconfigured = 15, "unconfigured";
    /// A frame for another server's hardware address, which a switch flooded.
    OtherHost = 16, "other-host";
    /// From the virtual NIC, with IP options in the place of the protocol's header.
    IpOptions = 17, "ip-options";
    /// It was rerouted as often as a packet may be.
    RetriesUsed = 18, "retries-used";
}

impl DropReason {
    /// How many reasons there are: the length of the map `drops`.
    pub const COUNT: usize = DropReason::ALL.len();

    /// The reason's number, an index of the map `drops`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The reason of that number, if there is one.
    pub fn from_index(index: usize) -> Option<DropReason> {
        DropReason::ALL.get(index).copied()
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

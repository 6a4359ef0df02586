//! Why a packet was dropped: one numbered list for the kernel's fast path, the software engine and the metrics.

use std::fmt;

/// Declares the enum, its names and the list of all in one place.
macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal;)*) => {
        /// Why a packet was dropped. The numbers are those of `enum cy_drop` in `bpf/cubeyard.h`.
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
    /// Too short, not IPv4, or not the one shape of a BCube header.
    Malformed = 0, "malformed";
    /// The header's checksum is wrong.
    BadChecksum = 1, "bad_checksum";
    /// The next hop index or the count of hops is out of bounds.
    BadIndex = 2, "bad_index";
    /// The neighbour status table has no such neighbour.
    UnknownNextHop = 3, "unknown_next_hop";
    /// The neighbour is known and down; user space is told.
    NextHopDead = 4, "next_hop_dead";
    /// The time to live has run out.
    TtlExpired = 5, "ttl_expired";
    /// The path ends here, yet the destination is another server.
    NotMine = 6, "not_mine";
    /// It came in by a port and claims this server as its source: it loops, or is forged.
    OwnSource = 7, "own_source";
    /// The inner packet's addresses do not fit the header's, or are not the sender's to use.
    Forged = 8, "forged";
    /// An IP packet on a port which is neither BCube's nor control traffic.
    Foreign = 9, "foreign";
    /// From the virtual NIC, and not IPv4.
    NotIp = 10, "not_ip";
    /// No path to the destination is known.
    NoPath = 11, "no_path";
    /// Longer than the ports' MTU once it carries a header.
    TooBig = 12, "too_big";
    /// The kernel could not make or take away room for the header.
    AdjustFailed = 13, "adjust_failed";
    /// The kernel would not redirect the packet.
    RedirectFailed = 14, "redirect_failed";
    /// The server has no address yet.
    Unconfigured = 15, "unconfigured";
    /// A frame for another server's hardware address, which a switch flooded.
    OtherHost = 16, "other_host";
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

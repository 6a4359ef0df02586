//! The resources of the chip `[serverswitch §4.1, Figs 3, 4]`.

use serde::{Deserialize, Serialize};

/// Ports to other devices, 0 to 3.
pub const EXTERNAL_PORTS: u8 = 4;
/// Ports to the server's NICs, 4 to 7.
pub const CPU_PORTS: u8 = 4;
/// Number of ports, external and CPU.
pub const PORTS: u8 = EXTERNAL_PORTS + CPU_PORTS;
/// Bytes of a packet that the programmable parser sees.
pub const PARSED_BYTES: usize = 128;
/// Blocks of four bytes that a key may be made of.
pub const KEY_BLOCKS: usize = 4;
/// Longest packet that the chip takes, Ethernet header included and check sequence left out: a
/// jumbo frame. `[ours]`
pub const MAX_FRAME_BYTES: usize = 9216;

/// Which chip a program is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The paper's chip with its limits: index-based source routing counts by the TTL, which only
    /// goes down.
    #[default]
    Bcm56338,
    /// The same with two more modifications: one byte counted up `[ours]`, and IP tunnels. The
    /// paper's chip has tunnels `[serverswitch §7]`, but its API (§3.3.2) has no action for them.
    Extended,
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Profile; 2] = [Profile::Bcm56338, Profile::Extended];

    /// The name that programs use.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Bcm56338 => "bcm56338",
            Profile::Extended => "extended",
        }
    }

    /// The profile of a name.
    pub fn by_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

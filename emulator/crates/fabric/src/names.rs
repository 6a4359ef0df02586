//! Names and numbers of interfaces, hardware addresses and names of namespaces. All are derived
//! from ids, so two runs of the same network get the same ones, and the kernel need not be queried.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{FabricError, Result};

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Name of a server's virtual network card, the interface that applications use.
pub const VIRTUAL_NIC: &str = "cy0";
/// Name of the card's other end, in the same namespace.
pub const VIRTUAL_NIC_PEER: &str = "cy0x";
/// Interface number of [`VIRTUAL_NIC`]. Lower numbers are left to interfaces that a container
/// already has.
pub const VIRTUAL_NIC_INDEX: u32 = 1001;
/// Interface number of [`VIRTUAL_NIC_PEER`].
pub const VIRTUAL_NIC_PEER_INDEX: u32 = 1002;
/// Interface number of loopback in every namespace.
pub const LOOPBACK_INDEX: u32 = 1;
/// Name of a gateway's interface on its cable to the external network.
pub const OUTER_NIC: &str = "out0";
/// Interface number of [`OUTER_NIC`].
pub const OUTER_NIC_INDEX: u32 = 1003;
const PORT_INDEX: u32 = 1010;
const SWITCH_SIDE_INDEX: u32 = 1_000;
/// Largest id of a server, switch or link: three bytes of a hardware address.
pub const ID_LIMIT: u32 = 1 << 24;

/// A run's id, which is checked: it is safe as part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// The first eight characters, which are part of the names of namespaces.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a namespace of this run can have this name. Such a name is also safe in a path.
    pub fn has_namespace(&self, name: &str) -> bool {
        let rest = name
            .strip_prefix("cy-")
            .and_then(|rest| rest.strip_prefix(self.short()))
            .and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    }

    /// Name of the namespace that the run's bridges share; names of routers' namespaces start with
    /// it.
    pub fn switch_namespace(&self) -> String {
        format!("cy-{}-sw", self.short())
    }

    /// Name of the namespace of a router.
    pub fn router_namespace(&self, switch: u32) -> String {
        format!("{}{switch}", self.switch_namespace())
    }

    /// Name of the namespace of the external network.
    pub fn outside_namespace(&self) -> String {
        format!("cy-{}-out", self.short())
    }

    /// Name of a server's namespace where the run has no containers.
    pub fn server_namespace(&self, server: u32) -> String {
        format!("cy-{}-{server}", self.short())
    }
}

impl FromStr for RunId {
    type Err = FabricError;

    fn from_str(text: &str) -> Result<RunId> {
        let allowed = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
        if (8..=36).contains(&text.len()) && text.bytes().all(allowed) {
            return Ok(RunId(text.to_owned()));
        }
        let limit = "8 to 36 digits and lower-case letters";
        Err(FabricError::bad(
            "run",
            format!("{text:?}"),
            limit,
            "use the run's id",
        ))
    }
}

impl TryFrom<String> for RunId {
    type Error = FabricError;

    fn try_from(text: String) -> Result<RunId> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> String {
        run.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Hardware address of the far end of a server's virtual network card.
pub fn virtual_nic_peer_mac(server: u32) -> Mac {
    mac(0xf1, server)
}

/// Hardware address of a switch's own interface.
pub fn switch_mac(switch: u32) -> Mac {
    mac(0xf2, switch)
}

/// Hardware address of an end that is a switch's port (0 the near end of the link, 1 the far one).
pub fn switch_port_mac(link: u32, end: usize) -> Mac {
    mac(0xf4 + end as u8, link)
}

/// Hardware address of the tunnel that joins a switch to its parts on other hosts.
pub fn switch_tunnel_mac(switch: u32) -> Mac {
    mac(0xf8, switch)
}

/// Hardware address of the tunnel of a link between hosts.
pub fn link_tunnel_mac(link: u32) -> Mac {
    mac(0xf9, link)
}

/// Hardware address of the bridge between a server's port and the tunnel of its link.
pub fn link_bridge_mac(link: u32) -> Mac {
    mac(0xfa, link)
}

/// Hardware address of an end of a gateway's cable to the external network (0 the external end, 1
/// the gateway's).
pub fn outer_mac(gateway: u32, end: usize) -> Mac {
    mac(0xf6 + end as u8, gateway)
}

fn mac(kind: u8, id: u32) -> Mac {
    let [_, high, middle, low] = id.to_be_bytes();
    [0x02, 0xcb, kind, high, middle, low]
}

/// Name of the external end of a gateway's cable.
pub fn outer_cable_name(gateway: u32) -> String {
    format!("g{gateway}")
}

/// Interface number of the external end of a gateway's cable.
pub fn outer_cable_index(gateway: u32) -> u32 {
    SWITCH_SIDE_INDEX + gateway
}

/// Name of a server's port.
pub fn port_name(port: u16) -> String {
    format!("p{port}")
}

/// Interface number of a server's port.
pub fn port_index(port: u16) -> u32 {
    PORT_INDEX + u32::from(port)
}

/// The inverse of [`port_index`].
pub fn port_of_index(index: u32) -> Option<u16> {
    index.checked_sub(PORT_INDEX)?.try_into().ok()
}

/// Name of a switch.
pub fn switch_name(switch: u32) -> String {
    format!("b{switch}")
}

/// Name of a switch's port, by its link; a link between two switches has two ports of switches.
pub fn switch_port_name(link: u32, end: usize) -> String {
    let suffix = if end == 0 { "a" } else { "" };
    format!("l{link}{suffix}")
}

/// Interface number of a switch.
pub fn switch_index(switch: u32) -> u32 {
    SWITCH_SIDE_INDEX + switch
}

/// Interface number of a switch's port, higher than those of all switches.
pub fn switch_port_index(link: u32, end: usize) -> u32 {
    SWITCH_SIDE_INDEX + ID_LIMIT + 2 * link + end as u32
}

/// Name of the tunnel that joins a switch to its parts on other hosts.
pub fn switch_tunnel_name(switch: u32) -> String {
    format!("x{switch}")
}

/// Interface number of such a tunnel, higher than those of all ports of switches.
pub fn switch_tunnel_index(switch: u32) -> u32 {
    SWITCH_SIDE_INDEX + 3 * ID_LIMIT + switch
}

/// Name of the tunnel of a link between hosts.
pub fn link_tunnel_name(link: u32) -> String {
    format!("y{link}")
}

/// Interface number of the tunnel of a link.
pub fn link_tunnel_index(link: u32) -> u32 {
    SWITCH_SIDE_INDEX + 4 * ID_LIMIT + link
}

/// Name of the bridge between a server's port and the tunnel of its link.
pub fn link_bridge_name(link: u32) -> String {
    format!("c{link}")
}

/// Interface number of the bridge of a link.
pub fn link_bridge_index(link: u32) -> u32 {
    SWITCH_SIDE_INDEX + 5 * ID_LIMIT + link
}

/// Whether both the name and the number of an interface are those of a tunnel.
pub fn is_tunnel(name: &str, index: u32) -> bool {
    let number = |first: u32| index.checked_sub(first).filter(|id| *id < ID_LIMIT);
    number(switch_tunnel_index(0)).is_some_and(|switch| name == switch_tunnel_name(switch))
        || number(link_tunnel_index(0)).is_some_and(|link| name == link_tunnel_name(link))
}

#[cfg(test)]
mod tests {
    use cubeyard_dataplane::address::{port_mac, vnic_mac};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_what_is_harmless_in_a_path_is_a_run(text in ".{0,40}|[0-9a-z]{6,40}|[0-9a-z./-]{8,36}") {
            let harmless = text.chars().all(|letter| matches!(letter, '0'..='9' | 'a'..='z'));
            prop_assert_eq!(text.parse::<RunId>().is_ok(), harmless && (8..=36).contains(&text.len()));
        }

        #[test]
        fn numbers_of_the_switches_side_differ(a in 0..ID_LIMIT, b in 0..ID_LIMIT) {
            let of = |id| [switch_index(id), switch_port_index(id, 0), switch_port_index(id, 1), switch_tunnel_index(id),
                link_tunnel_index(id), link_bridge_index(id)];
            let mut all = of(a).to_vec();
            if a != b {
                all.extend(of(b));
            }
            let many = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), many);
            prop_assert!(all.iter().all(|index| i32::try_from(*index).is_ok()), "the kernel's are signed");
        }

        #[test]
        fn names_fit_the_kernel_and_macs_differ(server in 0..ID_LIMIT, port in 0u16..64) {
            prop_assert!(port_name(port).len() < 16 && switch_port_name(server, 0).len() < 16);
            prop_assert!(switch_name(server).len() < 16 && switch_tunnel_name(server).len() < 16);
            prop_assert!(link_tunnel_name(server).len() < 16 && link_bridge_name(server).len() < 16);
            let macs = [port_mac(server, port as u8), vnic_mac(server), virtual_nic_peer_mac(server),
                switch_mac(server), switch_port_mac(server, 0), switch_port_mac(server, 1), outer_mac(server, 0),
                outer_mac(server, 1), switch_tunnel_mac(server), link_tunnel_mac(server), link_bridge_mac(server)];
            for (at, mac) in macs.iter().enumerate() {
                prop_assert!(!macs[..at].contains(mac));
                prop_assert_eq!(mac[0] & 3, 2, "locally administered, one receiver");
            }
        }
    }
}

//! A switch that forwards by hardware address: a Linux bridge. It may have a part on each of
//! several hosts.

use super::SwitchKind;
use crate::names::{self, RunId};
use crate::netlink::{self, Batch, set_up};
use crate::network::Network;

pub(super) static BRIDGE: Bridge = Bridge;

#[derive(Debug)]
pub(super) struct Bridge;

impl SwitchKind for Bridge {
    fn room_name(&self, run: &RunId, _switch: u32) -> String {
        run.switch_namespace()
    }

    fn sysctls(&self, _network: &Network, _switch: usize) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn make(&self, batch: &mut Batch, network: &Network, switch: usize) {
        let id = network.description.switches[switch].id;
        let bridge = netlink::Bridge {
            name: names::switch_name(id),
            index: names::switch_index(id),
            mac: names::switch_mac(id),
            mtu: network.description.mtu,
        };
        netlink::add_bridge(batch, &bridge);
    }

    fn master(&self, network: &Network, switch: usize) -> Option<u32> {
        Some(names::switch_index(network.description.switches[switch].id))
    }

    fn ports_are_hosts(&self) -> bool {
        false
    }

    fn add_port(&self, _batch: &mut Batch, _network: &Network, _link: usize, _end: usize) {}

    fn set_forwarding(&self, batch: &mut Batch, network: &Network, switch: usize, forwarding: bool) {
        // A bridge that is set down drops everything, while its ports stay up.
        let id = network.description.switches[switch].id;
        set_up(batch, names::switch_index(id), forwarding);
    }
}

//! A switch that forwards by IP address: a separate namespace, whose kernel forwards. Its routes
//! are in `routes/`.

use cubeyard_dataplane::address::switch_ip;

use super::SwitchKind;
use crate::names::{LOOPBACK_INDEX, RunId};
use crate::netlink::{Batch, add_address, set_up};
use crate::network::Network;
use crate::routes;

pub(super) static ROUTER: Router = Router;
const HOST_BITS: u8 = 32;

#[derive(Debug)]
pub(super) struct Router;

impl SwitchKind for Router {
    fn room_name(&self, run: &RunId, switch: u32) -> String {
        run.router_namespace(switch)
    }

    /// Each router hashes flows with its own seed. With a common seed, all flows that one router
    /// sends to the same next hop would get the same next hop at the following router too.
    /// `[measured]`
    fn sysctls(&self, network: &Network, switch: usize) -> Vec<(&'static str, String)> {
        let mut sysctls = routes::sysctls(network, network.description.switches[switch].id);
        sysctls.push(("ipv4/ip_forward", "1".to_owned()));
        sysctls
    }

    fn make(&self, batch: &mut Batch, network: &Network, switch: usize) {
        set_up(batch, LOOPBACK_INDEX, true);
        let id = network.description.switches[switch].id;
        if let Some(address) = switch_ip(id) {
            add_address(batch, LOOPBACK_INDEX, address, HOST_BITS);
        }
        routes::add_source(batch, network, id);
    }

    fn master(&self, _network: &Network, _switch: usize) -> Option<u32> {
        None
    }

    fn ports_are_hosts(&self) -> bool {
        true
    }

    fn add_port(&self, _batch: &mut Batch, _network: &Network, _link: usize, _end: usize) {}

    fn falls_silent_at_ends(&self) -> bool {
        true
    }

    fn set_forwarding(&self, _batch: &mut Batch, _network: &Network, _switch: usize, _forwarding: bool) {}
}

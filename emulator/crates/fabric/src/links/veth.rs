//! A link with both ends on this host: a veth pair. A link between hosts has one on each host too.

use cubeyard_dataplane::address::port_mac;

use super::{LinkKind, NamespaceOf, Site, Steps, interface};
use crate::names;
use crate::netlink::{End, GSO_MAX_BYTES, Veth, add_veth, join_bridge, set_up, shape};
use crate::network::{Network, Place};
use crate::routes::interface_mtu;
use crate::switches;

pub(super) static ON_ONE_HOST: OnOneHost = OnOneHost;

#[derive(Debug)]
pub(super) struct OnOneHost;

impl LinkKind for OnOneHost {
    fn site(&self, network: &Network, link: usize, end: usize) -> Site {
        match network.places[link][end] {
            Place::Server { server, .. } => Site::Server(server),
            Place::Switch { switch, .. } => Site::Room(network.rooms.of_switch(switch)),
        }
    }

    fn make(&self, steps: &mut Steps, network: &Network, link: usize, namespace_of: NamespaceOf<'_>) {
        make_pair(self, steps, network, link, namespace_of);
    }

    fn is_shaped(&self, _network: &Network, _link: usize, _end: usize) -> bool {
        true
    }
}

/// Makes the veth pair of a link. If one end is at a switch, the switch's namespace makes the pair,
/// so that most links are in one batch.
pub(super) fn make_pair(
    kind: &dyn LinkKind,
    steps: &mut Steps,
    network: &Network,
    link: usize,
    namespace_of: NamespaceOf<'_>,
) {
    let sites = [0, 1].map(|end| kind.site(network, link, end));
    let in_room = |site: &Site| matches!(site, Site::Room(_));
    let near = sites.iter().position(in_room).unwrap_or(0);
    let end_of = |end: usize| {
        let is_elsewhere = sites[end] != sites[near];
        let (master, arp) = attachment(network, link, end, sites[end]);
        let id = network.description.links[link].id;
        let (name, mac) = match (sites[end], network.places[link][end]) {
            (Site::Server(_), Place::Server { server, port }) => {
                let server = network.description.servers[server].id;
                (names::port_name(port), port_mac(server, port as u8))
            }
            _ => (names::switch_port_name(id, end), names::switch_port_mac(id, end)),
        };
        End {
            name,
            index: interface(network, link, end),
            mac,
            arp,
            // The kernel looks for the bridge in the namespace that makes the pair.
            bridge: master.filter(|_| !is_elsewhere),
            namespace: is_elsewhere.then(|| namespace_of(sites[end])),
        }
    };
    let veth = Veth {
        near: end_of(near),
        far: end_of(1 - near),
        mtu: interface_mtu(network),
        super_packet_bytes: GSO_MAX_BYTES,
    };
    add_veth(steps.make.at(sites[near]), &veth);
    for end in (0..2).filter(|end| in_room(&sites[*end])) {
        let batch = steps.finish.at(sites[end]);
        let index = interface(network, link, end);
        if let (Some(master), _) = attachment(network, link, end, sites[end])
            && sites[end] != sites[near]
        {
            join_bridge(batch, index, master);
        }
        set_up(batch, index, true);
        if kind.is_shaped(network, link, end) {
            shape(batch, index, &network.shape(link, sites[end]));
        }
        if let Place::Switch { switch, .. } = network.places[link][end] {
            switches::kind(network, switch).add_port(batch, network, link, end);
        }
    }
}

/// The interface that an end joins, and whether it uses ARP.
fn attachment(network: &Network, link: usize, end: usize, site: Site) -> (Option<u32>, bool) {
    match (site, network.places[link][end]) {
        (Site::Server(_), _) => (None, true),
        (Site::Room(_), Place::Switch { switch, .. }) => {
            let kind = switches::kind(network, switch);
            (kind.master(network, switch), kind.ports_are_hosts())
        }
        // This end represents a port of a server on another host.
        (Site::Room(_), Place::Server { .. }) => {
            let id = network.description.links[link].id;
            (Some(names::link_bridge_index(id)), false)
        }
    }
}

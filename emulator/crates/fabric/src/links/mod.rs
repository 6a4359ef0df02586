//! The links of a run: the interface of a kind of link, and the network interface of each end.
//!
//! One file per kind: a veth pair if both ends are on this host, a veth pair and a VXLAN tunnel if
//! one is on another host. The functions are pure: they add requests, which `kernels` sends. Only
//! `strangers`, which keeps packets of others out of the tunnels, has its own socket.
//!
//! Not here: ports of servers once their link exists (`servers/`), and the effects of faults on
//! links (`faults/`).

mod strangers;
mod veth;
mod vxlan;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use crate::faults::{EndCondition, QueueCondition};
use crate::names;
use crate::netlink::{Batch, cut, delay, lose, restore, set_rate, set_up};
use crate::network::{Network, Place};

pub use strangers::Strangers;
pub use vxlan::{add_link_bridges, add_tunnels};

/// Packets that a link with added delay may hold: 10 s of full packets at 100 Mb/s and MTU 9000.
const DELAYED_QUEUE_PACKETS: u32 = 14_000;

/// A namespace of a run on this host, without the external network's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// A namespace of switches, by number.
    Room(usize),
    /// The namespace of a server, by index.
    Server(usize),
}

/// Requests, grouped by the namespace that gets them.
#[derive(Debug, Default)]
pub struct Requests(pub BTreeMap<Site, Batch>);

impl Requests {
    /// The requests for one namespace, to add to.
    pub fn at(&mut self, site: Site) -> &mut Batch {
        self.0.entry(site).or_default()
    }
}

/// The two steps of making links. The second step starts once the first is complete in every
/// namespace.
#[derive(Debug, Default)]
pub struct Steps {
    /// Makes the interfaces of links.
    pub make: Requests,
    /// Attaches, sets up and shapes the ends at switches. Servers' ports are set up with their
    /// servers.
    pub finish: Requests,
}

/// Returns the namespace of a site.
pub type NamespaceOf<'a> = &'a dyn Fn(Site) -> BorrowedFd<'a>;

/// A kind of link.
pub trait LinkKind: Sync {
    /// The site that has an end of a link.
    fn site(&self, network: &Network, link: usize, end: usize) -> Site;

    /// Adds the requests that make the link.
    fn make(&self, steps: &mut Steps, network: &Network, link: usize, namespace_of: NamespaceOf<'_>);

    /// Whether an end limits its rate and counts its packets. Other ends forward packets that have
    /// been limited and counted already.
    fn is_shaped(&self, network: &Network, link: usize, end: usize) -> bool;
}

/// The kind of a link that has an end on this host.
pub fn kind(network: &Network, link: usize) -> &'static dyn LinkKind {
    if network.division.is_spanning(link) {
        &vxlan::BETWEEN_HOSTS
    } else {
        &veth::ON_ONE_HOST
    }
}

/// Interface number of an end of a link, in its namespace on this host.
pub fn interface(network: &Network, link: usize, end: usize) -> u32 {
    let site = kind(network, link).site(network, link, end);
    match (site, network.places[link][end]) {
        (Site::Server(_), Place::Server { port, .. }) => names::port_index(port),
        _ => names::switch_port_index(network.description.links[link].id, end),
    }
}

/// Changes an end of a link from one condition to another.
pub fn change_end(
    requests: &mut Requests,
    network: &Network,
    link: usize,
    end: usize,
    [was, is]: [&EndCondition; 2],
) {
    let kind = kind(network, link);
    let index = interface(network, link, end);
    let site = kind.site(network, link, end);
    let batch = requests.at(site);
    if kind.is_shaped(network, link, end) {
        let mut shape = network.shape(link, site);
        if was.rate_bits_per_sec != is.rate_bits_per_sec {
            shape.rate_bits_per_sec = is.rate_bits_per_sec;
            set_rate(batch, index, &shape);
        }
        if was.queue != is.queue {
            match is.queue {
                QueueCondition::Normal => restore(batch, index, &shape),
                QueueCondition::Cut => cut(batch, index, &shape),
                QueueCondition::Delayed(secs) => delay(batch, index, &shape, secs, DELAYED_QUEUE_PACKETS),
            }
        }
        if was.loss != is.loss {
            lose(batch, index, is.loss, was.loss > 0.0);
        }
    }
    if was.up != is.up {
        set_up(batch, index, is.up);
    }
}

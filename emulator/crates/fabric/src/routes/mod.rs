//! The routes of routers and servers in the kernel, where switches are routers.
//!
//! Each end of a link has a next-hop object, each set of ends a group, and routes share them.
//! `cubeyard_routing::tables` computes the tables; this module installs the differences in each
//! namespace.
//!
//! The kernel removes next hops, and the routes by them, when their interface loses its carrier,
//! and never adds them again. Therefore a node with an end that was lost or created again gets its
//! whole table.
//!
//! Not here: when tables change (`run/`), and the requests' encoding (`netlink/`).

mod detours;
mod table;
mod view;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use cubeyard_dataplane::event::SwitchReason;
use cubeyard_dataplane::inspection::Section;
use cubeyard_routing::hash;
use cubeyard_routing::tables::Tables;

use crate::links::{Requests, Site};
use crate::network::routing::Routing;
use crate::network::{Network, Place};
use table::Installed;

pub use detours::{add_source, interface_mtu};
pub use table::table_of_port;

/// Settings for MPTCP with us as path manager. `tcp_retries2` ends a subflow after about a minute
/// without acknowledgements, as it does a TCP flow: MPTCP has no option for that.
const MPTCP: [(&str, &str); 4] = [
    ("mptcp/enabled", "1"),
    ("mptcp/pm_type", "1"),
    ("mptcp/allow_join_initial_addr_port", "1"),
    ("ipv4/tcp_retries2", "8"),
];

/// Settings that make a node hash flows as [`hash`] computes, and settings for detours: names under
/// `/proc/sys/net`, and values.
pub fn sysctls(network: &Network, node: u32) -> Vec<(&'static str, String)> {
    let seed = hash::seed_of(network.description.seed, node);
    let mut all = vec![
        ("ipv4/fib_multipath_hash_policy", "3".to_owned()),
        ("ipv4/fib_multipath_hash_fields", hash::FIELDS.to_string()),
        ("ipv4/fib_multipath_hash_seed", seed.to_string()),
    ];
    if network.routing.as_ref().is_some_and(Routing::has_subflows) {
        all.extend(MPTCP.map(|(name, value)| (name, value.to_owned())));
    }
    all.extend(detours::sysctls(network));
    all
}

/// Installed routes of each namespace of a run.
#[derive(Debug)]
pub struct Routes {
    servers: Vec<Installed>,
    switches: Vec<Installed>,
    tables: Option<Tables>,
    missing: usize,
    /// Whether tables also change with weights.
    is_by_load: bool,
    /// Why paths of flows may have changed since the last event.
    untold: Option<SwitchReason>,
    /// Whether the tables must be installed.
    pub is_due: bool,
}

/// The requests of a change, in the order of sending.
#[derive(Debug, Default)]
pub struct Change {
    /// Adds and replaces objects.
    pub put: Requests,
    /// Removes unused objects, which the kernel may have removed already.
    pub remove: Requests,
}

impl Routes {
    /// The state before any namespace has routes.
    pub fn new(network: &Network) -> Routes {
        let none = |count: usize| (0..count).map(|_| Installed::default()).collect();
        Routes {
            servers: none(network.description.servers.len()),
            switches: none(network.description.switches.len()),
            tables: None,
            missing: 0,
            is_by_load: network
                .routing
                .as_ref()
                .is_some_and(|routing| routing.balance().follows_load()),
            untold: None,
            is_due: false,
        }
    }

    /// The installed tables; `None` before the first installation, and where switches are no
    /// routers.
    pub fn tables(&self) -> Option<&Tables> {
        self.tables.as_ref()
    }

    /// A node's table for users; empty where switches are no routers.
    pub fn sections(&self, network: &Network, node: u32) -> Vec<Section> {
        let table = self.tables.as_ref().map(|tables| tables.of(node));
        table.map_or(Vec::new(), |table| view::sections(network, table))
    }

    /// Stores the installed tables, and the number of missing links and servers.
    pub fn set_tables(&mut self, tables: Tables, missing: usize) {
        // Tables with the same number of missing parts differ by their weights.
        self.untold = Some(match missing.cmp(&self.missing) {
            Ordering::Less => SwitchReason::Recovery,
            Ordering::Equal if self.is_by_load => SwitchReason::Adaptation,
            Ordering::Equal | Ordering::Greater => SwitchReason::Failure,
        });
        self.tables = Some(tables);
        self.missing = missing;
    }

    /// The reason why tables have changed since the last call; `None` without changes.
    pub fn take_untold(&mut self) -> Option<SwitchReason> {
        self.untold.take()
    }

    /// Notes that the kernel may have removed routes over a link: both ends get their whole tables
    /// again.
    pub fn lose(&mut self, network: &Network, link: usize) {
        for place in network.places[link] {
            self.at(place).lose();
        }
    }

    /// Makes every node get its whole table at the next change.
    pub fn lose_all(&mut self) {
        self.servers
            .iter_mut()
            .chain(&mut self.switches)
            .for_each(Installed::lose);
    }

    /// Clears the stored table of a server whose namespace is new.
    pub fn forget(&mut self, server: usize) {
        self.servers[server] = Installed::default();
    }

    fn at(&mut self, place: Place) -> &mut Installed {
        match place {
            Place::Server { server, .. } => &mut self.servers[server],
            Place::Switch { switch, .. } => &mut self.switches[switch],
        }
    }

    /// The requests that install all nodes' tables, except those of servers in `absent`.
    pub fn change(&mut self, network: &Network, tables: &Tables, absent: &BTreeSet<usize>) -> Change {
        let mut change = Change::default();
        let description = &network.description;
        let servers = description.servers.iter().enumerate();
        let servers = servers
            .filter(|(server, _)| !absent.contains(server))
            .map(|(server, described)| (described.id, Place::Server { server, port: 0 }));
        let switches = description.switches.iter().enumerate();
        let switches = switches.map(|(switch, described)| (described.id, Place::Switch { switch, port: 0 }));
        for (id, place) in servers.chain(switches) {
            let site = match place {
                Place::Server { server, .. } => Site::Server(server),
                Place::Switch { switch, .. } => Site::Room(network.rooms.of_switch(switch)),
            };
            let installed = self.at(place);
            installed.bring(
                network,
                place,
                tables.of(id),
                change.put.at(site),
                change.remove.at(site),
            );
        }
        change
    }
}

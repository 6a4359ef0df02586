//! The switches of a run: the common interface of all kinds of switches, and the namespaces with
//! the switches.
//!
//! One file per kind. A room is a namespace that holds switches: all bridges share one, since they
//! forward by hardware address only; a switch with its own routes gets its own room.
//!
//! Not here: links and the tunnels between the parts of a switch (`links/`), and faults of switches
//! (`faults/`).

mod bridge;
mod chip;
mod router;

pub use chip::Chip;

use std::os::fd::AsFd;

use cubeyard_dataplane::catalog;

use crate::error::Result;
use crate::hellos::HelloSocket;
use crate::host::namespace::{self, Namespace};
use crate::links;
use crate::names::{self, RunId};
use crate::netlink::{Batch, LinkState, Netlink, delete_where, no_excuse};
use crate::network::Network;
use crate::parallel;

/// A kind of switch. All methods are pure: they add requests for the namespace of the switch.
pub trait SwitchKind: Sync {
    /// Name of the namespace with the switch. Switches with the same name share a namespace.
    fn room_name(&self, run: &RunId, switch: u32) -> String;

    /// Settings of the switch's namespace, in addition to those of every namespace: names under
    /// `/proc/sys/net`, and values.
    fn sysctls(&self, network: &Network, switch: usize) -> Vec<(&'static str, String)>;

    /// Adds the requests that make the switch, without ports.
    fn make(&self, batch: &mut Batch, network: &Network, switch: usize);

    /// The interface that the switch's ports must join, if there is one.
    fn master(&self, network: &Network, switch: usize) -> Option<u32>;

    /// Whether the switch's ports have addresses and use ARP.
    fn ports_are_hosts(&self) -> bool;

    /// Configures a port that has been made.
    fn add_port(&self, batch: &mut Batch, network: &Network, link: usize, end: usize);

    /// Whether a silent switch is made by dropping packets at the ends of its links, and not by
    /// [`SwitchKind::set_forwarding`].
    fn falls_silent_at_ends(&self) -> bool {
        false
    }

    /// Makes the switch forward, or drop everything while its ports keep their carriers.
    fn set_forwarding(&self, batch: &mut Batch, network: &Network, switch: usize, forwarding: bool);
}

/// The kind of a switch: the one that the protocol's entry in the catalogue names.
pub fn kind(network: &Network, _switch: usize) -> &'static dyn SwitchKind {
    match network.behaviour.entry.switches {
        catalog::SwitchKind::Bridge => &bridge::BRIDGE,
        catalog::SwitchKind::Router => &router::ROUTER,
        catalog::SwitchKind::Chip => &chip::CHIP,
    }
}

/// The assignment of switches to namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rooms {
    /// Names of the namespaces. The first is the one that bridges share; it always exists.
    pub names: Vec<String>,
    room_of: Vec<usize>,
}

impl Rooms {
    /// Assigns each switch to a namespace on this host.
    pub fn of(network: &Network) -> Rooms {
        let run = &network.description.run;
        let mut names = vec![run.switch_namespace()];
        let mut room_of = Vec::with_capacity(network.description.switches.len());
        for (at, switch) in network.description.switches.iter().enumerate() {
            let name = kind(network, at).room_name(run, switch.id);
            // Namespaces of single switches come in order, so a name can only equal the shared one
            // or the last.
            room_of.push(match name {
                name if name == names[0] => 0,
                name if network.division.has_switch(at) => {
                    names.push(name);
                    names.len() - 1
                }
                _ => 0,
            });
        }
        Rooms { names, room_of }
    }

    /// The namespace of a switch that has a part on this host.
    pub fn of_switch(&self, switch: usize) -> usize {
        self.room_of[switch]
    }
}

/// A namespace with switches, in the kernel.
pub struct Room {
    /// Handle of the namespace.
    pub namespace: Namespace,
    /// Socket for requests to the kernel.
    pub netlink: Netlink,
    /// Receives changes of the links of a router or chip; `None` for the namespace of bridges.
    pub link_events: Option<Netlink>,
    /// Socket for the hellos of a router or chip.
    pub hellos: Option<HelloSocket>,
    /// The chip; `None` unless the switch is one.
    pub chip: Option<Chip>,
}

impl Room {
    /// Makes the namespaces of a run, the switches in them, and the tunnels to other hosts. The
    /// calling thread must be in the host's own namespace: tunnels send and receive in the
    /// namespace where they are made.
    pub fn make_all(network: &Network) -> Result<Vec<Room>> {
        let mut rooms = Vec::with_capacity(network.rooms.names.len());
        for (number, name) in network.rooms.names.iter().enumerate() {
            let here = (0..network.description.switches.len()).filter(|&switch| {
                network.division.has_switch(switch) && network.rooms.of_switch(switch) == number
            });
            let here: Vec<usize> = here.collect();
            let namespace = Namespace::create(name)?;
            let decides = network.switches_decide() && number > 0;
            let (mut netlink, link_events, hellos) = namespace.run(|| {
                namespace::apply_defaults()?;
                for switch in &here {
                    for (name, value) in kind(network, *switch).sysctls(network, *switch) {
                        namespace::set_sysctl(name, &value)?;
                    }
                }
                let link_events = decides.then(Netlink::open_for_link_events).transpose()?;
                let hellos = decides.then(HelloSocket::open).transpose()?;
                Ok((Netlink::open()?, link_events, hellos))
            })?;
            let mut batch = Batch::new();
            if number == 0 {
                links::add_link_bridges(&mut batch, network);
            }
            for switch in here {
                kind(network, switch).make(&mut batch, network, switch);
            }
            netlink.run(&mut batch, no_excuse)?;
            rooms.push(Room {
                namespace,
                netlink,
                link_events,
                hellos,
                chip: None,
            });
        }
        let (mut make, mut join) = (Batch::new(), Batch::new());
        links::add_tunnels(&mut make, &mut join, network, rooms[0].namespace.as_fd());
        if !make.is_empty() {
            Netlink::open()?.run(&mut make, no_excuse)?;
            rooms[0].netlink.run(&mut join, no_excuse)?;
        }
        Ok(rooms)
    }

    /// Loads the chips of all switches that are chips, in parallel.
    pub fn load_chips(rooms: &mut [Room], network: &Network) -> Result<()> {
        let Some(chips) = network.behaviour.entry.chips else {
            return Ok(());
        };
        let own: Vec<&mut Room> = rooms.iter_mut().skip(1).collect();
        let loaded = parallel::for_each(own, |room| {
            room.chip = Some(room.namespace.run(|| Chip::load(&chips))?);
            Ok(())
        });
        loaded.map(|_| ())
    }

    /// Removes the tunnels to other hosts immediately. They would also disappear with the
    /// namespace, but later, and until then their numbers are in use.
    pub fn remove_tunnels(&mut self) -> Result<()> {
        delete_where(&mut self.netlink, is_tunnel)
    }
}

fn is_tunnel(link: &LinkState) -> bool {
    names::is_tunnel(&link.name, link.index)
}

/// Removes the tunnels in the namespace with this name, if it is a namespace of this run that still
/// exists.
pub fn remove_tunnels_in(run: &RunId, name: &str) -> Result<()> {
    if !name.starts_with(&run.switch_namespace()) || namespace::id_of_name(name).is_none() {
        return Ok(());
    }
    let mut socket = Namespace::named(name)?.run(Netlink::open)?;
    delete_where(&mut socket, is_tunnel)
}

//! Kernel objects of servers: their namespaces, interfaces and forwarding programs.
//!
//! `interfaces` has the virtual network card and the ports as requests, `maps` what the tables of
//! the programs hold before the node writes to them.
//!
//! Not here: loading and reading programs (`programs/`), links (`links/`), and nodes, which are
//! processes (`run/nodes.rs`).

pub mod interfaces;
pub mod maps;

use std::net::UdpSocket;

use cubeyard_dataplane::address::MAX_PORTS;

use crate::congestion::cpu::ChipCpu;
use crate::error::Result;
use crate::hellos::HelloSocket;
use crate::host::ethtool;
use crate::host::namespace::{self, Namespace};
use crate::host::packet_socket::PacketSocket;
use crate::links::{self, Site};
use crate::names;
use crate::netlink::{
    Batch, LinkState, Netlink, PathManager, delete_link, delete_where, gone_already, link_dump, no_excuse,
    queue_dump, read_link_state, read_queue_stats, set_mtu,
};
use crate::network::{Network, PortEnd};
use crate::programs::{Guard, Programs, QueueReader};
use crate::routes;

/// Location of a server's interfaces.
#[derive(Debug)]
pub enum Home {
    /// In the namespace of a container.
    Container(Namespace),
    /// In a namespace that the fabric makes.
    Named,
}

/// Kernel objects of one server. Dropping this closes the namespace.
pub struct ServerKernel {
    /// Network namespace of the server.
    pub namespace: Namespace,
    /// Socket for requests to the kernel.
    pub netlink: Netlink,
    /// Socket that receives changes of the server's links.
    pub link_events: Netlink,
    /// Socket for hellos; `None` unless switches are routers.
    pub hellos: Option<HelloSocket>,
    /// MPTCP's path manager; `None` where flows cannot be MPTCP.
    pub paths: Option<PathManager>,
    /// Forwarding in the kernel; `None` if the kernel forwards nothing.
    pub programs: Option<Programs>,
    /// Socket by which users' programs send packets through the chip; `None` if they cannot.
    pub programs_socket: Option<PacketSocket>,
    /// Program that reads queue lengths of ports; `None` without congestion notification.
    pub queue_reader: Option<QueueReader>,
    /// Thread that answers questions about queues; `None` without congestion notification.
    pub chip_cpu: Option<ChipCpu>,
    /// Socket that receives answers about queues; `None` without congestion notification.
    pub answers: Option<UdpSocket>,
    /// Program that hides packets which the node forwards from the kernel's stack; `None` if it
    /// forwards nothing.
    pub guard: Option<Guard>,
}

impl ServerKernel {
    /// Opens or makes a server's namespace, and prepares everything that needs no link. Moves the
    /// calling thread there.
    pub fn open(network: &Network, server: usize, home: &Home) -> Result<ServerKernel> {
        let namespace = match home {
            Home::Container(namespace) => {
                namespace.enter()?;
                namespace.duplicate()?
            }
            Home::Named => {
                let id = network.description.servers[server].id;
                Namespace::create_and_enter(&network.description.run.server_namespace(id))?
            }
        };
        namespace::apply_defaults()?;
        let is_routed = network.routing.is_some();
        if is_routed {
            for (name, value) in routes::sysctls(network, network.description.servers[server].id) {
                namespace::set_sysctl(name, &value)?;
            }
        }
        let mut netlink = Netlink::open()?;
        netlink.run(&mut interfaces::before_links(network, server), no_excuse)?;
        if network.behaviour.in_user_space() {
            ethtool::send_whole_packets(names::VIRTUAL_NIC)?;
        }
        Ok(ServerKernel {
            namespace,
            netlink,
            link_events: Netlink::open_for_link_events()?,
            hellos: is_routed.then(HelloSocket::open).transpose()?,
            paths: network
                .routing
                .as_ref()
                .filter(|routing| routing.has_subflows())
                .map(|_| PathManager::open())
                .transpose()?,
            programs: None,
            programs_socket: None,
            queue_reader: None,
            chip_cpu: None,
            answers: None,
            guard: None,
        })
    }

    /// Loads the server's programs, or takes preloaded ones, and attaches them to the virtual
    /// network card.
    pub fn load_programs(
        &mut self,
        network: &Network,
        server: usize,
        preloaded: Option<Programs>,
    ) -> Result<()> {
        let mut batch = Batch::new();
        let programs = match preloaded {
            Some(programs) => Some(programs),
            None => maps::load(network, server)?,
        };
        if let Some(mut programs) = programs {
            programs.attach_to_nic(&mut batch, names::VIRTUAL_NIC_INDEX)?;
            if programs.attach_to_peer(&mut batch, names::VIRTUAL_NIC_PEER_INDEX)? {
                // Packets here already have their headers.
                set_mtu(&mut batch, names::VIRTUAL_NIC_PEER_INDEX, network.description.mtu);
                let socket = self.namespace.run(PacketSocket::open_to_send)?;
                programs.take_packets_of(socket.cookie()?)?;
                self.programs_socket = Some(socket);
            }
            self.programs = Some(programs);
        }
        if network.description.congestion.is_some() {
            let ports = network.ports[server].iter();
            let ports = ports.map(|port| (port.port, names::port_index(port.port)));
            self.queue_reader = Some(QueueReader::load(ports)?);
        }
        if network.behaviour.in_user_space() {
            let guard = Guard::load()?;
            guard.attach(&mut batch, names::VIRTUAL_NIC_PEER_INDEX)?;
            self.guard = Some(guard);
        }
        self.netlink.run(&mut batch, no_excuse)
    }

    /// Configures addresses and queues of new ports, and attaches the server's programs to them.
    pub fn finish_ports(&mut self, network: &Network, server: usize, ports: &[PortEnd]) -> Result<()> {
        let mut batch = Batch::new();
        for port in ports {
            interfaces::finish_port(&mut batch, network, server, port);
            let index = names::port_index(port.port);
            if let Some(programs) = &self.programs {
                programs.attach_to_port(&mut batch, index)?;
            }
            if let Some(reader) = &self.queue_reader {
                reader.attach(&mut batch, index)?;
            }
            if let Some(guard) = &self.guard {
                guard.attach(&mut batch, index)?;
            }
        }
        self.netlink.run(&mut batch, no_excuse)
    }

    /// Bytes that wait at each port at this moment.
    pub fn queues(&mut self) -> Result<Vec<(u16, u64)>> {
        let mut queues = Vec::new();
        self.netlink.dump(&mut queue_dump(), |answer| {
            let stats = read_queue_stats(answer);
            queues.extend(
                stats.and_then(|stats| Some((names::port_of_index(stats.index)?, stats.queue_bytes))),
            );
        })?;
        Ok(queues)
    }

    /// Removes our interfaces from the namespace of a container that stays alive.
    pub fn remove_interfaces(&mut self, network: &Network, server: usize) -> Result<()> {
        let mut batch = Batch::new();
        delete_link(&mut batch, names::VIRTUAL_NIC_INDEX);
        for port in &network.ports[server] {
            delete_link(&mut batch, names::port_index(port.port));
        }
        self.netlink.run(&mut batch, gone_already)
    }
}

/// The site and interface number of the far end of a server's port.
pub fn far_interface(network: &Network, port: &PortEnd) -> (Site, u32) {
    let far = 1 - port.end;
    let site = links::kind(network, port.link).site(network, port.link, far);
    (site, links::interface(network, port.link, far))
}

/// Removes our interfaces from a container's namespace after a crash of the fabric, when the
/// network's description is lost.
pub fn remove_our_interfaces(socket: &mut Netlink) -> Result<()> {
    delete_where(socket, is_ours)
}

/// The name of a foreign interface with a carrier in a container's namespace.
pub fn foreign_interface(socket: &mut Netlink) -> Result<Option<String>> {
    let mut foreign = None;
    socket.dump(&mut link_dump(), |answer| {
        let link = read_link_state(answer).filter(|link| {
            let is_inner = (names::VIRTUAL_NIC_PEER_INDEX..=names::OUTER_NIC_INDEX).contains(&link.index);
            link.carrier && link.index != names::LOOPBACK_INDEX && !is_inner && !is_ours(link)
        });
        foreign = foreign.take().or(link.map(|link| link.name));
    })?;
    Ok(foreign)
}

/// Whether an interface in a container has both a name and a number that we give.
fn is_ours(link: &LinkState) -> bool {
    let is_nic = link.index == names::VIRTUAL_NIC_INDEX && link.name == names::VIRTUAL_NIC;
    let port = names::port_of_index(link.index).filter(|port| *port < u16::from(MAX_PORTS));
    is_nic || port.is_some_and(|port| link.name == names::port_name(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_interfaces_with_a_name_and_number_of_ours_are_ours() {
        let link = |index: u32, name: &str| LinkState {
            index,
            name: name.to_owned(),
            carrier: true,
            removed: false,
        };
        let last = u16::from(MAX_PORTS) - 1;
        for ours in [
            link(names::VIRTUAL_NIC_INDEX, "cy0"),
            link(names::port_index(0), "p0"),
            link(names::port_index(last), &names::port_name(last)),
        ] {
            assert!(is_ours(&ours), "{ours:?}");
        }
        for foreign in [
            link(1, "lo"),
            link(names::port_index(0), "eth0"),
            link(7, "p0"),
            link(names::VIRTUAL_NIC_INDEX, "p0"),
            link(names::port_index(last + 1), &names::port_name(last + 1)),
            link(names::port_index(u16::MAX), &names::port_name(u16::MAX)),
        ] {
            assert!(!is_ours(&foreign), "{foreign:?}");
        }
    }
}

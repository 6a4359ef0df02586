//! Makes a run's network in the kernel: servers side by side, links in one batch.

use std::os::fd::AsFd;
use std::sync::Arc;

use cubeyard_dataplane::maps::Path;
use cubeyard_dataplane::protocol::path_id;

use crate::ahead::Ahead;
use crate::error::Result;
use crate::ethtool;
use crate::fast_path::{FastPath, Guard};
use crate::names;
use crate::namespace::{self, Namespace};
use crate::netlink::{
    Batch, LinkState, Netlink, delete_link, gone_already, link_dump, no_excuse, read_link_state,
};
use crate::network::{Checked, Dataplane, Place};
use crate::parallel;
use crate::routes::Routes;
use crate::wiring::{self, PortEnd};

/// Where a server's interfaces go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The namespace of a container's process.
    Process(u32),
    /// A namespace of our own making.
    Named,
}

/// The kernel's part of one server. Dropping it lets go of the namespace.
pub struct ServerKernel {
    /// Its namespace.
    pub namespace: Namespace,
    /// Configures and reads it.
    pub netlink: Netlink,
    /// Hears of its links.
    pub link_events: Netlink,
    /// Its forwarding in the kernel, where the dataplane is that.
    pub fast_path: Option<FastPath>,
    /// Keeps the kernel out, where the node forwards.
    pub guard: Option<Guard>,
}

/// The namespace of the run's switches.
#[derive(Debug)]
pub struct SwitchKernel {
    /// Its namespace.
    pub namespace: Namespace,
    /// Configures and reads it.
    pub netlink: Netlink,
}

/// Makes the namespace of the switches, the switches, and the tunnels to their parts on other hosts. The calling thread
/// must be in this host's own namespace: the tunnels' packets travel in the one where they are made.
pub fn make_switches(network: &Checked) -> Result<SwitchKernel> {
    let name = network.network.run.switch_namespace();
    let namespace = Namespace::create(&name)?;
    let mut netlink = namespace.run(|| {
        namespace::quieten()?;
        Netlink::open()
    })?;
    netlink.run(&mut wiring::switches(network), no_excuse)?;
    let [mut make, mut join] = wiring::stitches(network, namespace.as_fd());
    if !make.is_empty() {
        Netlink::open()?.run(&mut make, no_excuse)?;
        netlink.run(&mut join, no_excuse)?;
    }
    Ok(SwitchKernel { namespace, netlink })
}

/// Removes the tunnels to other hosts at once. With the namespace they would go too, but when the kernel finds the time,
/// and until then nobody could use their numbers again.
pub fn unstitch(switches: &mut SwitchKernel) -> Result<()> {
    delete_where(&mut switches.netlink, is_stitch)
}

/// Removes the interfaces of a namespace that `is_it` accepts.
pub fn delete_where(socket: &mut Netlink, is_it: impl Fn(&LinkState) -> bool) -> Result<()> {
    let mut batch = Batch::new();
    socket.dump(&mut link_dump(), |answer| {
        if let Some(link) = read_link_state(answer).filter(&is_it) {
            delete_link(&mut batch, link.index);
        }
    })?;
    socket.run(&mut batch, gone_already)
}

/// Whether an interface among the switches has both a name and a number that we give to tunnels.
pub fn is_stitch(link: &LinkState) -> bool {
    let switch = link.index.checked_sub(names::stitch_index(0));
    switch.is_some_and(|switch| link.name == names::stitch_name(switch))
}

/// Opens or makes a server's namespace and prepares all of it that needs no link. Moves the calling thread.
fn open_server(network: &Checked, server: usize, home: Home) -> Result<ServerKernel> {
    let namespace = match home {
        Home::Process(pid) => {
            let namespace = Namespace::of_process(pid)?;
            namespace.enter()?;
            namespace
        }
        Home::Named => {
            let id = network.network.servers[server].id;
            Namespace::create_and_enter(&network.network.run.server_namespace(id))?
        }
    };
    namespace::quieten()?;
    let mut netlink = Netlink::open()?;
    netlink.run(&mut wiring::server_basics(network, server), no_excuse)?;
    if network.network.dataplane == Dataplane::Software {
        ethtool::send_whole_packets(names::VIRTUAL_NIC)?;
    }
    Ok(ServerKernel {
        namespace,
        netlink,
        link_events: Netlink::open_for_link_events()?,
        fast_path: None,
        guard: None,
    })
}

/// Gives a server's ports their addresses and queues, and attaches its programs: those made ahead, or new ones.
fn finish_server(
    network: &Checked,
    routes: &Routes<'_>,
    server: usize,
    ports: &[PortEnd],
    mut kernel: ServerKernel,
    ahead: Option<FastPath>,
) -> Result<ServerKernel> {
    let mut batch = Batch::new();
    wiring::server_ports(&mut batch, network, server, ports);
    let mut interfaces: Vec<u32> = ports.iter().map(|port| names::port_index(port.port)).collect();
    match network.network.dataplane {
        Dataplane::Kernel => {
            let fast_path = match ahead {
                Some(fast_path) => fast_path,
                None => make_fast_path(network, routes, server)?,
            };
            fast_path.attach(&mut batch, names::VIRTUAL_NIC_INDEX, &interfaces)?;
            kernel.fast_path = Some(fast_path);
        }
        Dataplane::Software => {
            let guard = Guard::load()?;
            interfaces.push(names::VIRTUAL_NIC_PEER_INDEX);
            guard.attach(&mut batch, &interfaces)?;
            kernel.guard = Some(guard);
        }
        Dataplane::None => {}
    }
    kernel.netlink.run(&mut batch, no_excuse)?;
    Ok(kernel)
}

/// A server's programs and maps, attached to nothing.
pub fn make_fast_path(network: &Checked, routes: &Routes<'_>, server: usize) -> Result<FastPath> {
    let mut fast_path = FastPath::load()?;
    fill_maps(network, routes, server, &mut fast_path)?;
    Ok(fast_path)
}

/// Writes who a server is, its neighbours, all taken to be alive, and its default paths.
pub fn fill_maps(
    network: &Checked,
    routes: &Routes<'_>,
    server: usize,
    fast_path: &mut FastPath,
) -> Result<()> {
    fast_path.configure(wiring::config(network, server))?;
    for neighbour in &network.neighbours[server] {
        fast_path.set_next_hop(neighbour.nha, wiring::next_hop(network, server, neighbour, true))?;
    }
    let source = network.network.servers[server].id;
    for (destination, route) in routes.from(server) {
        let id = path_id(source, network.network.servers[destination].id, &route);
        let address = network.address(destination);
        fast_path.set_route(address, Path::new(address, id, &route))?;
    }
    Ok(())
}

/// Wires some servers: all of them in a fresh run, or those whose containers were started anew.
///
/// `kernels` holds what is wired already; `fresh` says where the others go. Links between two servers of which one is
/// fresh are made anew; those to a switch always are.
pub fn wire(
    network: &Arc<Checked>,
    ports: &[Vec<PortEnd>],
    switches: &mut SwitchKernel,
    kernels: &mut [Option<ServerKernel>],
    fresh: &[(usize, Home)],
    ahead: &mut Ahead,
) -> Result<()> {
    let opened = parallel::for_each(fresh.to_vec(), |(server, home)| {
        open_server(network, server, home)
    })?;
    for ((server, _), kernel) in fresh.iter().zip(opened) {
        kernels[*server] = Some(kernel);
    }
    make_links(network, switches, kernels, |server| {
        fresh.iter().any(|(other, _)| *other == server)
    })?;
    let routes = Routes::new(network);
    let unfinished: Vec<(usize, ServerKernel, Option<FastPath>)> = fresh
        .iter()
        .filter_map(|&(server, _)| Some((server, kernels[server].take()?, ahead.take(server))))
        .collect();
    let finished = parallel::for_each(unfinished, |(server, kernel, ahead)| {
        finish_server(network, &routes, server, &ports[server], kernel, ahead).map(|kernel| (server, kernel))
    })?;
    for (server, kernel) in finished {
        kernels[server] = Some(kernel);
    }
    Ok(())
}

/// Removes what is left of the links of servers that are wired anew, from their far ends.
///
/// A namespace that nobody holds is taken down when the kernel finds the time; until then its links are there, and
/// their far ends have the names and numbers that the new ones need.
pub fn remove_links(
    network: &Checked,
    ports: &[Vec<PortEnd>],
    switches: &mut SwitchKernel,
    kernels: &mut [Option<ServerKernel>],
    servers: &[usize],
) -> Result<()> {
    let mut of_switches = Batch::new();
    for port in servers.iter().flat_map(|server| &ports[*server]) {
        let far = 1 - port.end;
        let index = wiring::end_index(network, port.link, far);
        match network.places[port.link][far] {
            Place::Switch { .. } => delete_link(&mut of_switches, index),
            Place::Server { server, .. } => {
                if let Some(kernel) = &mut kernels[server] {
                    let mut batch = Batch::new();
                    delete_link(&mut batch, index);
                    kernel.netlink.run(&mut batch, gone_already)?;
                }
            }
        }
    }
    switches.netlink.run(&mut of_switches, gone_already)
}

fn make_links(
    network: &Checked,
    switches: &mut SwitchKernel,
    kernels: &mut [Option<ServerKernel>],
    is_fresh: impl Fn(usize) -> bool,
) -> Result<()> {
    let mut from_switches = Batch::new();
    let mut from_servers: Vec<(usize, Batch)> = Vec::new();
    let all_fresh = network.servers_here().all(&is_fresh);
    for (link, places) in network.places.iter().enumerate() {
        if !network.division.has_link(link) {
            continue;
        }
        let wanted = places.iter().any(|place| match place {
            Place::Server { server, .. } => is_fresh(*server),
            // A link between switches is made with the run, when every server is fresh.
            Place::Switch { .. } => false,
        });
        let between_switches = places.iter().all(|place| matches!(place, Place::Switch { .. }));
        let ends_there = places.iter().all(|place| match place {
            Place::Server { server, .. } => kernels[*server].is_some(),
            Place::Switch { .. } => true,
        });
        if !(ends_there && (wanted || between_switches && all_fresh)) {
            continue;
        }
        let namespace_of = |server: usize| match &kernels[server] {
            Some(kernel) => kernel.namespace.as_fd(),
            None => switches.namespace.as_fd(),
        };
        match wiring::made_from(network, link) {
            Place::Switch { .. } => {
                wiring::link(&mut from_switches, network, link, namespace_of);
                wiring::shape_switch_ends(&mut from_switches, network, link);
            }
            Place::Server { server, .. } => {
                let mut batch = Batch::new();
                wiring::link(&mut batch, network, link, namespace_of);
                from_servers.push((server, batch));
            }
        }
    }
    switches.netlink.run(&mut from_switches, no_excuse)?;
    for (server, mut batch) in from_servers {
        if let Some(kernel) = &mut kernels[server] {
            kernel.netlink.run(&mut batch, no_excuse)?;
        }
    }
    Ok(())
}

/// Takes our interfaces out of a container's namespace that goes on living.
pub fn strip(network: &Checked, ports: &[PortEnd], kernel: &mut ServerKernel) -> Result<()> {
    let mut batch = Batch::new();
    delete_link(&mut batch, names::VIRTUAL_NIC_INDEX);
    for port in ports {
        if wiring::made_from(network, port.link) != network.places[port.link][port.end] {
            delete_link(&mut batch, names::port_index(port.port));
        }
    }
    kernel.netlink.run(&mut batch, gone_already)
}

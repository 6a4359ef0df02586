//! All kernel objects of a run on this host: the namespaces of servers and switches, the links
//! between them, and the external network. Servers are made in parallel, links in one batch per
//! namespace.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::error::Result;
use crate::external::External;
use crate::hellos::HelloSocket;
use crate::links::{self, Requests, Site, Steps, Strangers};
use crate::netlink::{
    Batch, Excuse, Netlink, Traffic, delete_link, gone_already, no_excuse, received_packets, traffic,
};
use crate::network::{Network, Place, PortEnd};
use crate::parallel;
use crate::programs::{Preloaded, fair};
use crate::servers::{Home, ServerKernel, far_interface};
use crate::switches::Room;

/// Kernel objects of a run's network on this host.
pub struct Kernels {
    network: Arc<Network>,
    /// By index of the server; `None` if it is on another host, or its container has ended.
    pub servers: Vec<Option<ServerKernel>>,
    /// The rooms of switches; none before the run is wired.
    pub rooms: Vec<Room>,
    external: Option<External>,
    /// Keeps packets of others out of the tunnels to other hosts; or the reason why that is
    /// impossible.
    strangers: Result<Option<Strangers>>,
    preloaded: Preloaded,
}

impl Kernels {
    /// Makes no kernel objects yet, but starts to load programs in the background.
    pub fn new(network: &Arc<Network>) -> Kernels {
        Kernels {
            servers: network.description.servers.iter().map(|_| None).collect(),
            rooms: Vec::new(),
            external: None,
            strangers: Ok(None),
            preloaded: Preloaded::start(network),
            network: network.clone(),
        }
    }

    /// Whether the run has been wired.
    pub fn is_wired(&self) -> bool {
        !self.rooms.is_empty()
    }

    /// Number of namespaces, without the external network's.
    pub fn count(&self) -> usize {
        self.servers.iter().flatten().count() + self.rooms.len()
    }

    /// Wires some servers: those of this host in a new run, or those whose containers have started
    /// again. `fresh` names them and their locations. Creates all their links whose other ends
    /// exist.
    pub fn wire(&mut self, fresh: &[(usize, Home)]) -> Result<()> {
        let network = self.network.clone();
        let is_new = self.rooms.is_empty();
        if is_new {
            if network.sharers().is_some() {
                fair::load()?;
            }
            self.external = External::make(&network)?;
            self.strangers = Strangers::of(&network);
            self.rooms = Room::make_all(&network)?;
            Room::load_chips(&mut self.rooms, &network)?;
        }
        self.remove_links(fresh)?;
        let opened = parallel::for_each(fresh.iter().collect(), |(server, home)| {
            ServerKernel::open(&network, *server, home)
        })?;
        for ((server, _), kernel) in fresh.iter().zip(opened) {
            self.servers[*server] = Some(kernel);
        }
        let is_fresh = |server: usize| fresh.iter().any(|(other, _)| *other == server);
        let made = self.make_links(is_new, is_fresh)?;
        self.attach_chips(&made)?;
        self.finish_servers(&made, is_fresh)?;
        if let Some(external) = &mut self.external {
            for (server, _) in fresh {
                if let Some(kernel) = &mut self.servers[*server] {
                    external.join(&network, *server, kernel)?;
                }
            }
        }
        Ok(())
    }

    /// Removes leftover far ends of the links of servers that are wired again.
    ///
    /// The kernel removes an unused namespace with a delay. Until then its links exist, and their
    /// far ends hold the names and numbers that the new links need.
    fn remove_links(&mut self, fresh: &[(usize, Home)]) -> Result<()> {
        let mut requests = Requests::default();
        for (server, _) in fresh {
            for port in &self.network.ports[*server] {
                let (site, index) = far_interface(&self.network, port);
                delete_link(requests.at(site), index);
            }
        }
        self.run(requests, gone_already)
    }

    /// Makes the links of newly wired servers, and in a new run those between switches. Returns the
    /// indices of the links.
    fn make_links(&mut self, is_new: bool, is_fresh: impl Fn(usize) -> bool) -> Result<Vec<usize>> {
        let network = self.network.clone();
        let wanted = |link: &usize| {
            let places = &network.places[*link];
            let touches_fresh = places
                .iter()
                .any(|place| matches!(place, Place::Server { server, .. } if is_fresh(*server)));
            // Links between switches are made when the run is wired first.
            let between_switches = places.iter().all(Place::is_switch);
            let ends_exist =
                (0..2).all(|end| self.exists(links::kind(&network, *link).site(&network, *link, end)));
            ends_exist && (touches_fresh || between_switches && is_new)
        };
        let here = (0..network.places.len()).filter(|link| network.division.has_link(*link));
        let made: Vec<usize> = here.filter(wanted).collect();
        let mut steps = Steps::default();
        let namespace_of = |site: Site| match site {
            Site::Server(server) => match &self.servers[server] {
                Some(kernel) => kernel.namespace.as_fd(),
                None => self.rooms[0].namespace.as_fd(),
            },
            Site::Room(room) => self.rooms[room].namespace.as_fd(),
        };
        for link in &made {
            links::kind(&network, *link).make(&mut steps, &network, *link, &namespace_of);
        }
        self.run(steps.make, no_excuse)?;
        self.run(steps.finish, no_excuse)?;
        Ok(made)
    }

    /// Attaches chips to the switch ports of new links.
    fn attach_chips(&mut self, made: &[usize]) -> Result<()> {
        let network = self.network.clone();
        for (link, end) in made.iter().flat_map(|link| [(*link, 0), (*link, 1)]) {
            if let Site::Room(number) = links::kind(&network, link).site(&network, link, end)
                && let Some(room) = self.rooms.get_mut(number)
                && let Some(chip) = &room.chip
            {
                let mut batch = Batch::new();
                let index = links::interface(&network, link, end);
                chip.programs.attach_to_port(&mut batch, index)?;
                room.netlink.run(&mut batch, no_excuse)?;
            }
        }
        Ok(())
    }

    /// Loads the programs of newly wired servers, and finishes all ports of new links.
    fn finish_servers(&mut self, made: &[usize], is_fresh: impl Fn(usize) -> bool + Sync) -> Result<()> {
        let network = self.network.clone();
        let mut is_made = vec![false; network.places.len()];
        made.iter().for_each(|link| is_made[*link] = true);
        let mut unfinished = Vec::new();
        for (server, slot) in self.servers.iter_mut().enumerate() {
            let ports = network.ports[server].iter().copied();
            let ports: Vec<PortEnd> = ports.filter(|port| is_made[port.link]).collect();
            let fresh = is_fresh(server);
            if (fresh || !ports.is_empty())
                && let Some(kernel) = slot.take()
            {
                let preloaded = if fresh { self.preloaded.take(server) } else { None };
                unfinished.push((server, fresh, kernel, ports, preloaded));
            }
        }
        let finished = parallel::for_each(unfinished, |(server, fresh, mut kernel, ports, preloaded)| {
            if fresh {
                kernel.load_programs(&network, server, preloaded)?;
            }
            kernel.finish_ports(&network, server, &ports)?;
            Ok((server, kernel))
        })?;
        for (server, kernel) in finished {
            self.servers[server] = Some(kernel);
        }
        Ok(())
    }

    fn exists(&self, site: Site) -> bool {
        match site {
            Site::Server(server) => self.servers[server].is_some(),
            Site::Room(room) => room < self.rooms.len(),
        }
    }

    /// Whether both ends of a link exist on this host.
    pub fn has_both_ends(&self, link: usize) -> bool {
        let kind = links::kind(&self.network, link);
        (0..2).all(|end| self.exists(kind.site(&self.network, link, end)))
    }

    /// The socket for the hellos of a site; `None` if the site is missing or sends no hellos.
    pub fn hello_socket(&self, site: Site) -> Option<&HelloSocket> {
        match site {
            Site::Server(server) => self.servers[server].as_ref()?.hellos.as_ref(),
            Site::Room(room) => self.rooms.get(room)?.hellos.as_ref(),
        }
    }

    /// Packets that an interface has received; `None` for a missing interface.
    pub fn received_packets(&mut self, site: Site, index: u32) -> Option<u64> {
        received_packets(self.socket(site)?, index).ok().flatten()
    }

    /// Counters of every interface of a site; `None` for a missing site.
    pub fn traffic(&mut self, site: Site) -> Option<BTreeMap<u32, Traffic>> {
        traffic(self.socket(site)?).ok()
    }

    fn socket(&mut self, site: Site) -> Option<&mut Netlink> {
        match site {
            Site::Server(server) => self.servers[server].as_mut().map(|kernel| &mut kernel.netlink),
            Site::Room(room) => self.rooms.get_mut(room).map(|room| &mut room.netlink),
        }
    }

    /// Sends requests to the kernel. Skips those for missing servers.
    pub fn run(&mut self, requests: Requests, excuse: Excuse) -> Result<()> {
        for (site, mut batch) in requests.0 {
            if let Some(socket) = self.socket(site) {
                socket.run(&mut batch, excuse)?;
            }
        }
        Ok(())
    }

    /// All netlink sockets with their sites.
    pub fn sockets(&mut self) -> impl Iterator<Item = (Site, &mut Netlink)> {
        let servers = self.servers.iter_mut().enumerate();
        let servers =
            servers.filter_map(|(at, kernel)| Some((Site::Server(at), &mut kernel.as_mut()?.netlink)));
        let rooms = self.rooms.iter_mut().enumerate();
        servers.chain(rooms.map(|(at, room)| (Site::Room(at), &mut room.netlink)))
    }

    /// Connects a gateway to the external network, or disconnects it.
    pub fn set_external(&mut self, server: usize, joined: bool) -> Result<()> {
        // A container that has ended took its cable along. The cable is made again when the server
        // is wired again.
        match (&mut self.external, &self.servers[server]) {
            (Some(external), Some(_)) => external.set_joined(&self.network, server, joined),
            _ => Ok(()),
        }
    }

    /// Number of foreign packets that the tunnels to other hosts have refused since the last call.
    /// A failure is returned once.
    pub fn take_strangers(&mut self) -> Result<u64> {
        match std::mem::replace(&mut self.strangers, Ok(None))? {
            Some(mut strangers) => {
                let dropped = strangers.take_dropped()?;
                self.strangers = Ok(Some(strangers));
                Ok(dropped)
            }
            None => Ok(0),
        }
    }

    /// Removes our interfaces from containers that stay alive.
    pub fn remove_interfaces(&mut self) -> Result<()> {
        let network = self.network.clone();
        let living = self.servers.iter_mut().enumerate();
        let living: Vec<_> = living
            .filter_map(|(at, kernel)| Some((at, kernel.as_mut()?)))
            .collect();
        parallel::for_each(living, |(server, kernel)| {
            kernel.remove_interfaces(&network, server)
        })?;
        Ok(())
    }

    /// Closes all handles. Named namespaces stay until their names are removed.
    pub fn release(&mut self) -> Result<()> {
        self.servers.fill_with(|| None);
        for mut room in std::mem::take(&mut self.rooms) {
            room.remove_tunnels()?;
        }
        self.external = None;
        self.strangers = Ok(None);
        Ok(())
    }
}

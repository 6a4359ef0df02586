//! Packets of services: each link carries one at a time, and its server's services are polled when
//! it is free.

use std::time::Duration;

use cubeyard_dataplane::service::{ClientId, Service};
use cubeyard_topology::NodeId;

use super::{HOP, Happening, Network};
use crate::wiring::PortOf;

/// Headers of Ethernet, IPv4 and UDP before a packet of a service.
const SERVICE_HEADERS_BYTES: usize = 42;

impl Network {
    /// A message to a server's service from outside.
    ///
    /// # Panics
    /// Where the server has no such service.
    pub fn tell(&mut self, server: NodeId, service: &str, bytes: &[u8]) {
        let now = self.now();
        let host = self.hosts.get_mut(&server);
        let services = host.and_then(|host| host.protocol.services());
        let told = services.map(|services| services.message(now, service, bytes));
        assert_eq!(told, Some(Ok(())), "server {server} has the service {service}");
        self.carry_out(server);
    }

    /// Hosts one more service on a server. Errors: those of
    /// [`cubeyard_dataplane::service::Services::host`].
    ///
    /// # Panics
    /// Where the server hosts no services.
    pub fn host_service(&mut self, server: NodeId, id: u16, service: Box<dyn Service>) -> Result<(), String> {
        let now = self.now();
        let host = self.hosts.get_mut(&server);
        let services = host.and_then(|host| host.protocol.services());
        let hosted = services.map(|services| services.host(now, id, service));
        self.carry_out(server);
        hosted.unwrap_or_else(|| panic!("server {server} hosts services"))
    }

    /// Wakes a service on a server, by number: the state shared with its process has changed.
    pub fn wake(&mut self, server: NodeId, id: u16) {
        let now = self.now();
        let host = self.hosts.get_mut(&server);
        if let Some(services) = host.and_then(|host| host.protocol.services()) {
            services.wake(now, id);
            self.carry_out(server);
        }
    }

    /// A client of the service at a TCP port of a server sends bytes or, with `None`, nothing more.
    pub fn client(&mut self, server: NodeId, tcp_port: u16, client: ClientId, bytes: Option<&[u8]>) {
        let now = self.now();
        let host = self.hosts.get_mut(&server).filter(|host| host.running);
        if let Some(services) = host.and_then(|host| host.protocol.services()) {
            match bytes {
                Some(bytes) => services.client(now, tcp_port, client, bytes),
                None => services.client_ended(now, tcp_port, client),
            }
            self.carry_out(server);
        }
    }

    /// A packet of a service arrives by a port, from anybody.
    pub fn arrive_at(&mut self, server: NodeId, port: u8, bytes: &[u8]) {
        self.arrive((server, port), bytes);
    }

    /// A packet of a service has arrived.
    pub(super) fn arrive(&mut self, to: PortOf, bytes: &[u8]) {
        let now = self.now();
        let host = self.hosts.get_mut(&to.0).filter(|host| host.running);
        if let Some(services) = host.and_then(|host| host.protocol.services()) {
            services.arrive(now, to.1, bytes);
            self.carry_out(to.0);
        }
    }

    /// A link has carried its packet.
    pub(super) fn on_link_free(&mut self, from: PortOf) {
        self.busy.remove(&from);
        self.fill_link(from);
    }

    /// Passes on the answers of a server's services, and fills its free links with their packets.
    pub(super) fn serve(&mut self, server: NodeId) {
        let now = self.now();
        let host = self.hosts.get_mut(&server);
        let Some(services) = host.and_then(|host| host.protocol.services()) else {
            return;
        };
        while let Some((name, bytes)) = services.poll_answer() {
            self.answers.push((now, server, name, bytes));
        }
        while let Some(reply) = services.poll_reply() {
            self.replies.push((server, reply.client, reply.bytes));
        }
        if services.has_news() {
            for port in self.wiring.ports(server) {
                self.fill_link((server, port));
            }
        }
    }

    /// Sends the next packet of services by a port whose link is free.
    fn fill_link(&mut self, from: PortOf) {
        let now = self.now();
        let host = self.hosts.get_mut(&from.0).filter(|host| host.running);
        let services = host.and_then(|host| host.protocol.services());
        let Some(services) = services.filter(|_| !self.busy.contains(&from)) else {
            return;
        };
        let Some(bytes) = services.next_packet(now, from.1) else {
            return;
        };
        self.busy.insert(from);
        let bits = 8.0 * (bytes.len() + SERVICE_HEADERS_BYTES) as f64;
        let takes = Duration::from_secs_f64(bits / self.options.rate_bits_per_sec);
        self.queue.push(takes, Happening::LinkFree { from });
        if let Some(link) = self.wiring.outward(from) {
            self.service_packets[link] += 1;
        }
        let reached = self.wiring.neighbours(from);
        let to = reached
            .first()
            .map(|neighbour| (neighbour.server, neighbour.port));
        let carries = |to: &PortOf| self.wiring.carries(&self.topology, &self.failures, from, *to);
        if let Some(to) = to.filter(carries)
            && !self.deaf.contains(&to)
            && self.draws.unit() >= self.loss
        {
            self.queue.push(takes + HOP, Happening::Service { to, bytes });
        }
    }
}

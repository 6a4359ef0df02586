//! The description of a network to emulate, as the caller sends it, and its checks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{MAX_PORTS, MAX_SERVER, Nha, virtual_ip};
use cubeyard_topology::TopologySpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{FabricError, Result};
use crate::hosts::{Division, Hosts};
use crate::names::{ID_LIMIT, RunId};
use crate::outside;

/// Most servers of one run on one host.
pub const MAX_SERVERS: usize = 1024;
/// Most links of one run on one host.
pub const MAX_LINKS: usize = 8192;
const RATES_BITS_PER_SEC: std::ops::RangeInclusive<f64> = 1e4..=1e11;
const MTUS: std::ops::RangeInclusive<u32> = 576..=65_000;

/// Who forwards packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dataplane {
    /// eBPF programs in the kernel.
    Kernel,
    /// The node, in user space.
    Software,
    /// The switches alone: applications talk over port 0, nothing is encapsulated.
    None,
}

/// A network to emulate; ids are those of the topology, of which it may be a slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The run it is for.
    pub run: RunId,
    /// Whose run it is, so that nobody removes another's.
    #[serde(default)]
    pub owner: String,
    /// The hosts it is spread over; absent where this one has all of it.
    #[serde(default)]
    pub hosts: Option<Hosts>,
    /// Name of the family.
    pub family: String,
    /// The family's parameters.
    pub spec: Value,
    /// Rate of links that do not say theirs.
    pub rate_bits_per_sec: f64,
    /// Largest IP packet on a link.
    pub mtu: u32,
    /// Who forwards packets.
    pub dataplane: Dataplane,
    /// Seeds whatever a node leaves to chance.
    #[serde(default)]
    pub seed: u64,
    /// Settings of the nodes, passed on to them; `queue_bytes` is ours: what a link's end holds back at most.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The servers.
    pub servers: Vec<Server>,
    /// Ids of the servers that are gateways to an external network. `[bcube §5.3]`
    #[serde(default)]
    pub gateways: Vec<u32>,
    /// The switches.
    #[serde(default)]
    pub switches: Vec<Switch>,
    /// The links.
    pub links: Vec<Link>,
}

/// A server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its id in the topology.
    pub id: u32,
    /// Its name there.
    #[serde(default)]
    pub name: String,
    /// The address applications use; follows from the id.
    #[serde(default)]
    pub ip: Option<Ipv4Addr>,
    /// Which of the hosts it is on.
    #[serde(default)]
    pub host: usize,
}

/// A switch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its id in the topology.
    pub id: u32,
    /// Its name there.
    #[serde(default)]
    pub name: String,
}

/// A link between two ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its id in the topology.
    pub id: u32,
    /// Node and port of the near end.
    pub a: [u32; 2],
    /// Node and port of the far end.
    pub b: [u32; 2],
    /// The level of the switch or link, for people.
    #[serde(default)]
    pub level: u32,
    /// Capacity per direction.
    #[serde(default)]
    pub rate_bits_per_sec: Option<f64>,
}

impl Link {
    /// Both ends, as node and port.
    pub fn ends(&self) -> [[u32; 2]; 2] {
        [self.a, self.b]
    }
}

/// What stands at one end of a link, by index into the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Port of a server.
    Server {
        /// Which server.
        server: usize,
        /// Which of its ports.
        port: u16,
    },
    /// Port of a switch.
    Switch {
        /// Which switch.
        switch: usize,
        /// Which of its ports.
        port: u32,
    },
}

/// A server reached through a port without passing another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The port it is reached by.
    pub port: u16,
    /// The server, by index.
    pub server: usize,
    /// The server's port.
    pub far_port: u16,
    /// What packets call it.
    pub nha: Nha,
}

/// A checked network with its ends and neighbours worked out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The description.
    pub network: Network,
    /// Both ends of every link.
    pub places: Vec<[Place; 2]>,
    /// Every server's neighbours, by port and NHA; none without a dataplane.
    pub neighbours: Vec<Vec<Neighbour>>,
    /// The structure.
    pub spec: TopologySpec,
    /// What of it is on which host.
    pub division: Division,
    server_index: BTreeMap<u32, usize>,
    switch_index: BTreeMap<u32, usize>,
    link_index: BTreeMap<u32, usize>,
}

impl Checked {
    /// Reads a description from JSON and checks it.
    pub fn from_json(network: Value) -> Result<Checked> {
        let network: Network = serde_path_to_error::deserialize(network).map_err(|error| {
            let path = error.path().to_string();
            FabricError::malformed(format!("network.{path}: {}", error.inner()))
        })?;
        Checked::new(network)
    }

    /// Checks a description. Errors name the first field that is wrong.
    pub fn new(network: Network) -> Result<Checked> {
        check_size("network.servers", network.servers.len(), 1, MAX_SERVERS)?;
        check_size("network.links", network.links.len(), 0, MAX_LINKS)?;
        check_rate("network.rate_bits_per_sec", network.rate_bits_per_sec)?;
        if !MTUS.contains(&network.mtu) {
            let limit = format!("{} to {} bytes", MTUS.start(), MTUS.end());
            return Err(FabricError::bad(
                "network.mtu",
                network.mtu,
                limit,
                "use 1500 or 9000",
            ));
        }
        let spec = structure(&network)?;
        let server_index = index_servers(&network)?;
        let switch_index = index_switches(&network, &server_index)?;
        let mut checked = Checked {
            places: Vec::with_capacity(network.links.len()),
            neighbours: Vec::new(),
            spec,
            division: Division::default(),
            link_index: BTreeMap::new(),
            server_index,
            switch_index,
            network,
        };
        checked.place_links()?;
        checked.find_neighbours()?;
        outside::check(&checked)?;
        checked.division = Division::of(&checked)?;
        Ok(checked)
    }

    /// Index of a server by its id.
    pub fn server(&self, id: u32) -> Result<usize> {
        let found = self.server_index.get(&id).copied();
        found.ok_or_else(|| FabricError::not_found("server", id, "name a server of network.servers"))
    }

    /// Index of a switch by its id.
    pub fn switch(&self, id: u32) -> Result<usize> {
        let found = self.switch_index.get(&id).copied();
        found.ok_or_else(|| FabricError::not_found("switch", id, "name a switch of network.switches"))
    }

    /// Index of a link by its id.
    pub fn link(&self, id: u32) -> Result<usize> {
        let found = self.link_index.get(&id).copied();
        found.ok_or_else(|| FabricError::not_found("link", id, "name a link of network.links"))
    }

    /// Link and end that a port of a server is.
    pub fn port(&self, server: usize, port: u16) -> Option<(usize, usize)> {
        let wanted = Place::Server { server, port };
        let of_link = |places: &[Place; 2]| places.iter().position(|place| *place == wanted);
        self.places
            .iter()
            .enumerate()
            .find_map(|(link, places)| of_link(places).map(|end| (link, end)))
    }

    /// Capacity of a link per direction.
    pub fn rate_bits_per_sec(&self, link: usize) -> f64 {
        let own = self.network.links[link].rate_bits_per_sec;
        own.unwrap_or(self.network.rate_bits_per_sec)
    }

    /// Bytes that may wait at an end of a link: 80 ms of its rate, but room for two super-packets at least. With 20 ms
    /// the 15 flows that share a link in an all-to-all have too few packets of 9000 bytes each to recover by. `[ours]`
    pub fn queue_bytes(&self, link: usize) -> u32 {
        const QUEUE_SECS: f64 = 0.08;
        let own = self.network.settings.get("queue_bytes").and_then(Value::as_u64);
        match own {
            Some(bytes) => bytes as u32,
            None => (self.rate_bits_per_sec(link) / 8.0 * QUEUE_SECS).clamp(131_072.0, 16_777_216.0) as u32,
        }
    }

    /// The servers of this host, by index.
    pub fn servers_here(&self) -> impl Iterator<Item = usize> {
        let servers = 0..self.network.servers.len();
        servers.filter(|server| self.division.has_server(*server))
    }

    /// Whether a server is a gateway.
    pub fn is_gateway(&self, server: usize) -> bool {
        self.network.gateways.contains(&self.network.servers[server].id)
    }

    /// The virtual address of a server.
    pub fn address(&self, server: usize) -> Ipv4Addr {
        // Ids beyond the last address were refused when the description was checked.
        virtual_ip(self.network.servers[server].id).unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    fn place_links(&mut self) -> Result<()> {
        let mut taken = BTreeSet::new();
        for (at, link) in self.network.links.iter().enumerate() {
            let field = |name: &str| format!("network.links[{at}].{name}");
            if link.id >= ID_LIMIT {
                let limit = format!("less than {ID_LIMIT}");
                return Err(FabricError::bad(
                    field("id"),
                    link.id,
                    limit,
                    "use the topology's link ids",
                ));
            }
            if self.link_index.insert(link.id, at).is_some() {
                return Err(FabricError::bad(
                    field("id"),
                    link.id,
                    "unlike every other link's",
                    "name each link once",
                ));
            }
            if let Some(rate) = link.rate_bits_per_sec {
                check_rate(&field("rate_bits_per_sec"), rate)?;
            }
            let mut places = Vec::with_capacity(2);
            for (name, [node, port]) in ["a", "b"].into_iter().zip(link.ends()) {
                if !taken.insert((node, port)) {
                    let limit = "a port with no other link";
                    let fix = "give each link a port of its own";
                    return Err(FabricError::bad(
                        field(name),
                        format!("[{node}, {port}]"),
                        limit,
                        fix,
                    ));
                }
                places.push(self.place(node, port).map_err(|limit| {
                    let fix = "name a node and port of this network";
                    FabricError::bad(field(name), format!("[{node}, {port}]"), limit, fix)
                })?);
            }
            if link.a[0] == link.b[0] {
                return Err(FabricError::bad(
                    field("b"),
                    link.b[0],
                    "another node than a",
                    "remove the link",
                ));
            }
            self.places.push([places[0], places[1]]);
        }
        Ok(())
    }

    fn place(&self, node: u32, port: u32) -> std::result::Result<Place, String> {
        if let Some(&switch) = self.switch_index.get(&node) {
            return Ok(Place::Switch { switch, port });
        }
        let Some(&server) = self.server_index.get(&node) else {
            return Err("an end at one of network.servers or network.switches".to_owned());
        };
        let limit = match self.network.dataplane {
            Dataplane::None => 1,
            Dataplane::Kernel | Dataplane::Software => u32::from(Nha::LEVELS.min(MAX_PORTS)),
        };
        if port >= limit {
            return Err(format!(
                "a port below {limit} with this dataplane (a header names ports in two bits)"
            ));
        }
        Ok(Place::Server {
            server,
            port: port as u16,
        })
    }

    fn find_neighbours(&mut self) -> Result<()> {
        self.neighbours = vec![Vec::new(); self.network.servers.len()];
        if self.network.dataplane == Dataplane::None {
            return Ok(());
        }
        let mut at_switch: Vec<Vec<(usize, u16, u32)>> = vec![Vec::new(); self.network.switches.len()];
        for places in self.places.clone() {
            match places {
                [
                    Place::Server { server, port },
                    Place::Switch { switch, port: far },
                ]
                | [
                    Place::Switch { switch, port: far },
                    Place::Server { server, port },
                ] => {
                    at_switch[switch].push((server, port, far));
                }
                [
                    Place::Server {
                        server: a,
                        port: a_port,
                    },
                    Place::Server {
                        server: b,
                        port: b_port,
                    },
                ] => {
                    self.meet(a, a_port, b, b_port, 0)?;
                    self.meet(b, b_port, a, a_port, 0)?;
                }
                [Place::Switch { .. }, Place::Switch { .. }] => {
                    let fix = "use the dataplane none";
                    let limit = "without links between switches";
                    return Err(FabricError::bad(
                        "network.dataplane",
                        "kernel or software",
                        limit,
                        fix,
                    ));
                }
            }
        }
        for servers in at_switch {
            for &(server, port, _) in &servers {
                for &(other, far_port, digit) in servers.iter().filter(|other| other.0 != server) {
                    self.meet(server, port, other, far_port, digit)?;
                }
            }
        }
        for neighbours in &mut self.neighbours {
            neighbours.sort_by_key(|neighbour| neighbour.nha);
        }
        Ok(())
    }

    /// `digit` is the neighbour's port on the switch between, which in BCube is its digit at that level. `[bcube §3.1]`
    fn meet(&mut self, server: usize, port: u16, other: usize, far_port: u16, digit: u32) -> Result<()> {
        let nha = Nha::new(u32::from(port), digit).ok_or_else(|| {
            let limit = format!(
                "ports of switches below {} (a header names them in six bits)",
                Nha::DIGITS
            );
            FabricError::bad(
                "network.links",
                format!("switch port {digit}"),
                limit,
                "use smaller switches",
            )
        })?;
        self.neighbours[server].push(Neighbour {
            port,
            server: other,
            far_port,
            nha,
        });
        Ok(())
    }
}

fn structure(network: &Network) -> Result<TopologySpec> {
    let mut spec = network.spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields
            .entry("family")
            .or_insert_with(|| Value::from(network.family.clone()));
    }
    TopologySpec::from_json(&spec).map_err(|error| {
        let fix = "take family and spec from the experiment";
        FabricError::bad(
            "network.spec",
            network.spec.to_string(),
            format!("a structure: {error}"),
            fix,
        )
    })
}

fn check_size(field: &str, count: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let limit = format!("{least} to {most} entries");
    Err(FabricError::bad(
        field,
        format!("{count} entries"),
        limit,
        "emulate a slice of the network",
    ))
}

/// Checks a rate of a link.
pub fn check_rate(field: &str, rate_bits_per_sec: f64) -> Result<()> {
    if RATES_BITS_PER_SEC.contains(&rate_bits_per_sec) {
        return Ok(());
    }
    let limit = format!(
        "{:e} to {:e} bits a second",
        RATES_BITS_PER_SEC.start(),
        RATES_BITS_PER_SEC.end()
    );
    Err(FabricError::bad(
        field,
        rate_bits_per_sec,
        limit,
        "use for example 1e8",
    ))
}

fn index_servers(network: &Network) -> Result<BTreeMap<u32, usize>> {
    let mut index = BTreeMap::new();
    for (at, server) in network.servers.iter().enumerate() {
        let field = |name: &str| format!("network.servers[{at}].{name}");
        let Some(address) = virtual_ip(server.id) else {
            let limit = format!("at most {MAX_SERVER}");
            return Err(FabricError::bad(
                field("id"),
                server.id,
                limit,
                "emulate a slice with lower ids",
            ));
        };
        if server.ip.is_some_and(|ip| ip != address) {
            let given = server.ip.map(|ip| ip.to_string()).unwrap_or_default();
            return Err(FabricError::bad(
                field("ip"),
                given,
                format!("{address}"),
                "leave it out",
            ));
        }
        if index.insert(server.id, at).is_some() {
            return Err(FabricError::bad(
                field("id"),
                server.id,
                "unlike every other server's",
                "name each once",
            ));
        }
    }
    Ok(index)
}

fn index_switches(network: &Network, servers: &BTreeMap<u32, usize>) -> Result<BTreeMap<u32, usize>> {
    let mut index = BTreeMap::new();
    for (at, switch) in network.switches.iter().enumerate() {
        let field = format!("network.switches[{at}].id");
        if switch.id >= ID_LIMIT {
            return Err(FabricError::bad(
                field,
                switch.id,
                format!("less than {ID_LIMIT}"),
                "use the topology's ids",
            ));
        }
        if servers.contains_key(&switch.id) || index.insert(switch.id, at).is_some() {
            return Err(FabricError::bad(
                field,
                switch.id,
                "unlike every other node's",
                "name each node once",
            ));
        }
    }
    Ok(index)
}

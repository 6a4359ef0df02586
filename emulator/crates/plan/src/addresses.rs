//! IPv4 addresses of a plan's devices, for files that configure their management network.
//!
//! Servers have the addresses of one network in order of their ids, switches those of another. The
//! site names the networks; without them servers are in 10.0.0.0 and switches in 172.16.0.0, as in
//! the lab file. Emulations do not use these addresses.

use std::fmt;
use std::net::Ipv4Addr;

use cubeyard_topology::{Finding, HOST_NAME_MAX_CHARACTERS, NodeId, Topology};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const DEFAULT_SERVERS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);
const DEFAULT_SWITCHES: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 0);
const DEFAULT_LONGEST_PREFIX: u8 = 24;
const SHORTEST_PREFIX: u8 = 8;
const LONGEST_PREFIX: u8 = 30;
pub(crate) const DNS_SERVERS_AT_MOST: usize = 8;
/// A DNS name has at most 253 characters; the host name and a dot come before the domain.
pub(crate) const DOMAIN_MAX_CHARACTERS: usize = 253 - HOST_NAME_MAX_CHARACTERS - 1;
const LABEL_MAX_CHARACTERS: usize = 63;

/// `site.addresses` of a spec, as texts; [`Addresses::of`] reads and checks them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AddressSpec {
    /// Network of the servers, such as `10.20.0.0/16`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<String>,
    /// Router of the network that contains it. No device has its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

impl AddressSpec {
    pub fn is_empty(&self) -> bool {
        *self == AddressSpec::default()
    }
}

/// An IPv4 network, with a prefix of 8 to 30.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    start: u32,
    prefix: u8,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.start), self.prefix)
    }
}

impl Network {
    /// The network of this prefix that contains `address`.
    fn around(address: u32, prefix: u8) -> Network {
        let start = address & (u32::MAX << (32 - prefix));
        Network { start, prefix }
    }

    fn last(self) -> u32 {
        self.start | !(u32::MAX << (32 - self.prefix))
    }

    fn contains(self, address: u32) -> bool {
        (self.start..=self.last()).contains(&address)
    }

    /// Whether a device can have the address: the first and the last one name the network and all
    /// of its devices.
    fn has_host(self, address: u32) -> bool {
        self.start < address && address < self.last()
    }

    fn hosts(self) -> u32 {
        self.last() - self.start - 1
    }

    fn overlaps(self, other: Network) -> bool {
        self.start <= other.last() && other.start <= self.last()
    }
}

/// The longest prefix whose network has `hosts` addresses for devices.
fn prefix_for(hosts: u32) -> u8 {
    let size = u64::from(hosts) + 2;
    (32 - (64 - (size - 1).leading_zeros()) as u8).min(LONGEST_PREFIX)
}

/// The addresses of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    pub servers: Network,
    pub switches: Network,
    pub gateway: Option<u32>,
    server_count: u32,
}

impl Addresses {
    /// Reads the site's addresses for a topology.
    ///
    /// # Errors
    /// Findings that name the field: a network that cannot be read, is too small for its devices or
    /// overlaps the other one, or a gateway outside of both.
    pub fn of(spec: Option<&AddressSpec>, topology: &Topology) -> Result<Addresses, Vec<Finding>> {
        let none = AddressSpec::default();
        let spec = spec.unwrap_or(&none);
        let mut findings = Vec::new();
        let gateway = spec.gateway.as_deref().and_then(|text| {
            let read = host_address(text);
            if read.is_none() {
                findings.push(unreadable_address("gateway", text));
            }
            read
        });
        let (servers, switches) = (topology.server_count(), topology.switch_count());
        let mut network = |kind: &'static str, text: Option<&str>, default: Ipv4Addr, devices: u32| {
            let Some(text) = text else {
                let prefix = prefix_for(devices + u32::from(gateway.is_some())).min(DEFAULT_LONGEST_PREFIX);
                return Some(Network::around(default.to_bits(), prefix));
            };
            let (network, finding) = match read_network(text) {
                Ok(network) => (Some(network), too_small(kind, network, devices, gateway)),
                Err(wrong) => (None, Some(wrong.finding(kind, text))),
            };
            let usable = network.filter(|_| finding.is_none());
            findings.extend(finding);
            usable
        };
        let networks = (
            network("servers", spec.servers.as_deref(), DEFAULT_SERVERS, servers),
            network("switches", spec.switches.as_deref(), DEFAULT_SWITCHES, switches),
        );
        findings.extend(spec.domain.as_deref().and_then(check_domain));
        findings.extend(check_dns(&spec.dns));
        if let (Some(servers), Some(switches)) = networks {
            let addresses = Addresses {
                servers,
                switches,
                gateway,
                server_count: topology.server_count(),
            };
            findings.extend(addresses.overlap(spec));
            findings.extend(addresses.gateway_outside(spec));
            if findings.is_empty() {
                return Ok(addresses);
            }
        }
        Err(findings)
    }

    fn overlap(&self, spec: &AddressSpec) -> Option<Finding> {
        let (servers, switches) = (self.servers, self.switches);
        // If only the servers' network is set, the other one is the one to move.
        let (field, value, other, by_default) = if spec.servers.is_some() && spec.switches.is_none() {
            ("servers", servers, switches, true)
        } else {
            ("switches", switches, servers, spec.servers.is_none())
        };
        let others = if field == "servers" { "switches" } else { "servers" };
        servers.overlaps(switches).then(|| {
            let usual = if by_default { " by default" } else { "" };
            let or_set = if by_default {
                format!(", or set site.addresses.{others} too")
            } else {
                String::new()
            };
            let finding = Finding::error(
                "address-networks-overlap",
                format!("site.addresses.{field}"),
                format!("site.addresses.{field} is {value}; the {others} are in {other}{usual}, and the two networks overlap."),
                format!("Give another network{or_set}."),
            );
            finding
                .with_value(value.to_string())
                .with_limit(other.to_string())
                .with_fix(clear(field))
        })
    }

    fn gateway_outside(&self, spec: &AddressSpec) -> Option<Finding> {
        let (text, at) = (spec.gateway.as_deref()?, self.gateway?);
        if self.servers.has_host(at) || self.switches.has_host(at) {
            return None;
        }
        let (servers, switches) = (self.servers, self.switches);
        let why = if servers.contains(at) || switches.contains(at) {
            "the first or last address of its network, which no device can have"
        } else {
            "outside both networks"
        };
        let finding = Finding::error(
            "address-gateway",
            "site.addresses.gateway",
            format!(
                "site.addresses.gateway is {text}, {why}: servers are in {servers}, switches in {switches}."
            ),
            format!(
                "Give an address in one of them, such as {}.",
                Ipv4Addr::from(servers.last() - 1)
            ),
        );
        Some(
            finding
                .with_value(text)
                .with_limit(json!([servers.to_string(), switches.to_string()]))
                .with_fix(clear("gateway")),
        )
    }

    /// The address of a device: the next one of its network, without the gateway's.
    pub fn of_device(&self, device: NodeId) -> Ipv4Addr {
        let (network, number) = match device.checked_sub(self.server_count) {
            None => (self.servers, device),
            Some(number) => (self.switches, number),
        };
        let address = network.start + 1 + number;
        let behind = self
            .gateway
            .is_some_and(|gateway| network.contains(gateway) && gateway <= address);
        Ipv4Addr::from(address + u32::from(behind))
    }

    /// The networks with their gateways, DNS servers and domain as a document:
    /// `{"servers", "switches", "gateways": {network: address}, "dns", "domain"}`. Without devices,
    /// a network is `null`.
    pub fn document(&self, spec: Option<&AddressSpec>, topology: &Topology) -> Value {
        let network = |network: Network, devices: u32| (devices > 0).then(|| network.to_string());
        let gateways: serde_json::Map<String, Value> = [self.servers, self.switches]
            .into_iter()
            .filter_map(|network| {
                let gateway = self.gateway.filter(|&gateway| network.contains(gateway))?;
                Some((network.to_string(), json!(Ipv4Addr::from(gateway))))
            })
            .collect();
        json!({
            "servers": network(self.servers, topology.server_count()),
            "switches": network(self.switches, topology.switch_count()),
            "gateways": gateways,
            "dns": spec.map_or(&[][..], |spec| &spec.dns),
            "domain": spec.and_then(|spec| spec.domain.as_deref()),
        })
    }
}

/// Why a text is no network for devices.
enum Unusable {
    NotCidr,
    HostBits(Network),
    Prefix,
    Reserved,
}

impl Unusable {
    fn finding(&self, kind: &str, text: &str) -> Finding {
        let example = if kind == "servers" {
            "10.20.0.0/16"
        } else {
            "172.20.0.0/16"
        };
        let limit =
            format!("an IPv4 network like {example}, with a prefix of {SHORTEST_PREFIX} to {LONGEST_PREFIX}");
        let why = match self {
            Unusable::NotCidr => format!("it must be {limit}"),
            Unusable::HostBits(network) => format!("the network with that prefix is {network}"),
            Unusable::Prefix => format!("its prefix must be {SHORTEST_PREFIX} to {LONGEST_PREFIX}"),
            Unusable::Reserved => "that range is reserved and not for devices".to_owned(),
        };
        let (hint, fix) = match self {
            Unusable::HostBits(network) => (format!("Write {network}."), set(kind, &network.to_string())),
            _ => (
                format!("Give {limit}, or leave it out for the default."),
                clear(kind),
            ),
        };
        Finding::error(
            "address-network",
            format!("site.addresses.{kind}"),
            format!("site.addresses.{kind} is \"{text}\"; {why}."),
            hint,
        )
        .with_value(text)
        .with_limit(limit)
        .with_fix(fix)
    }
}

fn read_network(text: &str) -> Result<Network, Unusable> {
    let (address, prefix) = text.split_once('/').ok_or(Unusable::NotCidr)?;
    let address: Ipv4Addr = address.parse().map_err(|_| Unusable::NotCidr)?;
    if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Unusable::NotCidr);
    }
    let prefix = prefix
        .parse()
        .ok()
        .filter(|prefix| (SHORTEST_PREFIX..=LONGEST_PREFIX).contains(prefix))
        .ok_or(Unusable::Prefix)?;
    let network = Network::around(address.to_bits(), prefix);
    if is_reserved(Ipv4Addr::from(network.start)) || is_reserved(Ipv4Addr::from(network.last())) {
        return Err(Unusable::Reserved);
    }
    if network.start != address.to_bits() {
        return Err(Unusable::HostBits(network));
    }
    Ok(network)
}

/// Ranges in which no device can have an address: "this network", loopback, link-local, multicast
/// and above. [RFC 6890]
fn is_reserved(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [0 | 127 | 224..=255, ..] | [169, 254, ..])
}

fn host_address(text: &str) -> Option<u32> {
    let address: Ipv4Addr = text.parse().ok()?;
    (!is_reserved(address)).then(|| address.to_bits())
}

fn too_small(kind: &str, network: Network, devices: u32, gateway: Option<u32>) -> Option<Finding> {
    let routed = gateway.is_some_and(|gateway| network.has_host(gateway));
    let needed = devices + u32::from(routed);
    if needed <= network.hosts() {
        return None;
    }
    let wider = Network::around(network.start, prefix_for(needed));
    let and_gateway = if routed { " and the gateway" } else { "" };
    let finding = Finding::error(
        "address-network-small",
        format!("site.addresses.{kind}"),
        format!(
            "site.addresses.{kind} is {network}, with {} addresses; the plan has {devices} {kind}{and_gateway}.",
            network.hosts()
        ),
        format!("Give a prefix of at most {}, such as {wider}.", wider.prefix),
    );
    let finding = finding.with_value(network.to_string());
    let finding = finding.with_limit(format!("/{}", wider.prefix));
    Some(finding.with_fix(set(kind, &wider.to_string())))
}

fn unreadable_address(field: &str, text: &str) -> Finding {
    let section = field.split('[').next().unwrap_or(field);
    Finding::error(
        "address-unreadable",
        format!("site.addresses.{field}"),
        format!("site.addresses.{field} is \"{text}\"; it must be the IPv4 address of a device."),
        "Write it like 10.20.0.1, or leave it out.",
    )
    .with_value(text)
    .with_fix(clear(section))
}

fn check_dns(servers: &[String]) -> Vec<Finding> {
    if servers.len() > DNS_SERVERS_AT_MOST {
        let (count, limit) = (servers.len(), DNS_SERVERS_AT_MOST);
        let message = format!("site.addresses.dns has {count} servers; it must have at most {limit}.");
        let hint = "Keep the servers that machines should ask first.";
        let finding = Finding::error("out-of-range", "site.addresses.dns", message, hint);
        let fix = json!({"site": {"addresses": {"dns": servers[..limit]}}});
        return vec![finding.with_value(count).with_limit(limit).with_fix(fix)];
    }
    let unreadable = servers
        .iter()
        .enumerate()
        .filter(|(_, text)| host_address(text).is_none());
    unreadable
        .map(|(row, text)| unreadable_address(&format!("dns[{row}]"), text))
        .collect()
}

fn check_domain(domain: &str) -> Option<Finding> {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= LABEL_MAX_CHARACTERS
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if domain.len() <= DOMAIN_MAX_CHARACTERS && domain.split('.').all(is_label) {
        return None;
    }
    let limit = format!(
        "a domain like dc1.example.org, of at most {DOMAIN_MAX_CHARACTERS} lower-case letters, digits, hyphens and dots"
    );
    let finding = Finding::error(
        "address-domain",
        "site.addresses.domain",
        format!("site.addresses.domain is \"{domain}\"; it must be {limit}."),
        "Write it without a dot at either end, or leave it out.",
    );
    Some(
        finding
            .with_value(domain)
            .with_limit(limit)
            .with_fix(clear("domain")),
    )
}

/// The merge patch that sets a field of `site.addresses`.
fn set(field: &str, value: &str) -> Value {
    json!({"site": {"addresses": {field: value}}})
}

/// The merge patch that removes a field of `site.addresses`.
fn clear(field: &str) -> Value {
    json!({"site": {"addresses": {field: null}}})
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_PREFIX, Network, prefix_for};

    #[test]
    fn the_prefix_for_devices_is_the_longest_that_holds_them() {
        for hosts in [1, 2, 3, 6, 7, 254, 255, 65_534, 65_535, 1 << 20] {
            let network = |prefix| Network::around(10 << 24, prefix);
            let prefix = prefix_for(hosts);
            assert!(network(prefix).hosts() >= hosts, "{hosts}: /{prefix}");
            assert!(
                prefix == LONGEST_PREFIX || network(prefix + 1).hosts() < hosts,
                "{hosts}: /{prefix}"
            );
        }
    }
}

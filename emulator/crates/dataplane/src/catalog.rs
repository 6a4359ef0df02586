//! The catalogue: every protocol that servers can run, and every kind of forwarding for its
//! packets. A protocol is one folder next to this file, one folder in `bpf/` if the kernel forwards
//! its packets, and one entry here.
//!
//! Protocol (the decisions) and forwarding (the movement of packets) are independent: an entry
//! lists the forwardings that support the protocol.

use cubeyard_chip::Flaw;
use cubeyard_topology::TopologySpec;

use crate::bcube;
use crate::camcube;
use crate::configuration::{Configuration, ConfigurationError};
use crate::dcell;
use crate::echo;
use crate::fields::HeaderFormat;
use crate::forwarding::Forwarding;
use crate::object::KernelObject;
use crate::portland;
use crate::protocol::{Protocol, Time};
use crate::service::ServiceEntry;
use crate::settings::Setting;
use crate::switch_control::ChipSwitches;
use crate::tables::{MakeRules, OwnEntries, TableSchema};

/// The kind of the switches in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// An Ethernet bridge, which does not take part in the protocol.
    Bridge,
    /// An IP router, whose tables follow from the topology and its failures.
    Router,
    /// A switching chip, whose CPU writes its tables.
    Chip,
}

/// Checks whether a topology can run a protocol.
pub type CheckSpec = fn(&TopologySpec) -> Result<(), ConfigurationError>;
/// Creates the protocol of a server.
pub type MakeProtocol = fn(&Configuration, Time) -> Result<Box<dyn Protocol>, ConfigurationError>;
/// Creates the forwarding of a server in user space.
pub type MakeForwarding = fn(&Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError>;

/// A protocol of the catalogue.
#[derive(Clone, Copy)]
pub struct ProtocolEntry {
    /// Name in documents and messages.
    pub name: &'static str,
    /// Name of the protocol for users.
    pub title: &'static str,
    /// A one-sentence description for users.
    pub description: &'static str,
    /// Topology families for which this is the default protocol.
    pub families: &'static [&'static str],
    /// Length of the header in bytes. The MTU of the virtual network card is a port's MTU minus
    /// this.
    pub header_bytes: u32,
    /// Format of the header; `None` without a header.
    pub header: Option<HeaderFormat>,
    /// Maximum number of ports of a server.
    pub max_ports: u8,
    /// Maximum number of ports of a switch.
    pub max_switch_ports: u32,
    /// Number of addresses of a server's applications.
    pub addresses_per_server: u8,
    /// The kind of switches in its networks.
    pub switches: SwitchKind,
    /// The software of switches that are chips; `None` for other switches.
    pub chips: Option<ChipSwitches>,
    /// Whether servers can be gateways to an external network.
    pub gateways: bool,
    /// Whether the protocol moves flows by load.
    pub adapts: bool,
    /// Name of the routing scheme that predicts its paths.
    pub routing: &'static str,
    /// The settings of the protocol.
    pub settings: &'static [Setting],
    /// The services that every server hosts.
    pub services: &'static [ServiceEntry],
    /// Checks whether a topology can run the protocol.
    pub check: CheckSpec,
    /// Creates the protocol; `None` if servers have none and only switches forward packets.
    pub protocol: Option<MakeProtocol>,
    /// The forwardings that support it; empty if servers forward nothing.
    pub forwardings: &'static [ForwardingEntry],
    /// Largest level of a subnetwork around a server that can be a slice; `None` if the family has
    /// no such slices.
    pub slice_around_max_k: Option<u32>,
}

/// Name of the forwarding by programs in the kernel.
pub const KERNEL: &str = "kernel";
/// Name of the forwarding by the protocol's own code in user space.
pub const SOFTWARE: &str = "software";
/// Name of the forwarding by a switching chip's tables in the kernel.
pub const CHIP: &str = "serverswitch";
/// Name of the forwarding by a switching chip's tables in user space.
pub const CHIP_SOFTWARE: &str = "serverswitch-software";

/// A kind of forwarding for packets.
#[derive(Clone, Copy)]
pub struct ForwardingEntry {
    /// Name in documents and messages.
    pub name: &'static str,
    /// Where packets are forwarded.
    pub kind: ForwardingKind,
    /// Name of the forwarding for users.
    pub title: &'static str,
    /// The tables of the forwarding.
    pub tables: &'static [TableSchema],
    /// The entries that follow from a server's position.
    pub own_entries: OwnEntries,
    /// Creates the checks of a run's tables.
    pub rules: MakeRules,
    /// Whether all servers of a run must be on one host.
    pub one_host: bool,
    /// The default program of each server; `None` if users cannot replace it.
    pub program: Option<ServerProgram>,
}

/// A program that decides about packets. Its text is the same for every server.
#[derive(Clone, Copy)]
pub struct ServerProgram {
    /// The default program, used unless the user gives one.
    pub own: &'static str,
    /// The default program with congestion notification; `None` if that is not supported.
    pub marked: Option<&'static str>,
    /// Returns the errors in a user's program for a server.
    pub check: fn(&Configuration, &str) -> Result<(), Vec<Flaw>>,
}

/// Longest text of a user's program in bytes: it must fit one message to each server.
pub const MAX_PROGRAM_BYTES: usize = 16 * 1024;

/// Where packets are forwarded.
#[derive(Clone, Copy)]
pub enum ForwardingKind {
    /// By programs in the kernel.
    Kernel(KernelObject),
    /// By the server's node, in user space.
    Software(MakeForwarding),
}

/// The tables of a protocol's own forwarding.
#[derive(Clone, Copy)]
pub struct OwnForwarding {
    /// Schemas, as in [`ForwardingEntry`].
    pub tables: &'static [TableSchema],
    /// Initial entries, as in [`ForwardingEntry`].
    pub own_entries: OwnEntries,
    /// Checks, as in [`ForwardingEntry`].
    pub rules: MakeRules,
}

impl ForwardingEntry {
    /// Forwarding by the protocol's own programs in the kernel: an object of `bpf/` with programs
    /// of the usual names.
    pub const fn in_kernel(object: &'static [u8], own: OwnForwarding) -> ForwardingEntry {
        let kind = ForwardingKind::Kernel(KernelObject {
            bytes: object,
            virtual_nic: Some("cubeyard_vnic"),
            port: "cubeyard_port",
            own_tables: None,
        });
        own.by(KERNEL, "Kernel (eBPF)", kind)
    }

    /// Forwarding by the protocol's own code in user space.
    pub const fn in_user_space(make: MakeForwarding, own: OwnForwarding) -> ForwardingEntry {
        own.by(SOFTWARE, "User space", ForwardingKind::Software(make))
    }

    /// The table with this name.
    pub fn table(&self, name: &str) -> Option<&'static TableSchema> {
        self.tables.iter().find(|schema| schema.name == name)
    }
}

impl OwnForwarding {
    const fn by(self, name: &'static str, title: &'static str, kind: ForwardingKind) -> ForwardingEntry {
        ForwardingEntry {
            name,
            kind,
            title,
            tables: self.tables,
            own_entries: self.own_entries,
            rules: self.rules,
            one_host: false,
            program: None,
        }
    }
}

impl ProtocolEntry {
    /// The forwarding with this name.
    pub fn forwarding(&self, name: &str) -> Option<&'static ForwardingEntry> {
        self.forwardings.iter().find(|forwarding| forwarding.name == name)
    }
}

impl std::fmt::Debug for ForwardingEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ForwardingEntry({})", self.name)
    }
}

impl std::fmt::Debug for ProtocolEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProtocolEntry({})", self.name)
    }
}

/// The entry without a protocol: only switches carry packets, and servers have one port.
pub const NONE: ProtocolEntry = ProtocolEntry {
    name: "none",
    title: "Switching only",
    description: "Servers run no protocol; their switches forward Ethernet frames.",
    families: &["tree"],
    header_bytes: 0,
    header: None,
    max_ports: 1,
    max_switch_ports: u32::MAX,
    addresses_per_server: 1,
    switches: SwitchKind::Bridge,
    chips: None,
    gateways: false,
    adapts: false,
    routing: "tree",
    settings: &[],
    services: &[],
    check: |_| Ok(()),
    protocol: None,
    forwardings: &[],
    slice_around_max_k: None,
};

/// The entry for routed networks: switches are routers for plain IP packets, and servers spread
/// flows over their ports.
pub const ROUTED: ProtocolEntry = ProtocolEntry {
    name: "ip",
    title: "IP routing",
    description: "Switches are routers with equal-cost paths; servers run no protocol and send plain IP packets.",
    families: &[
        "fat_tree",
        "leaf_spine",
        "subways",
        "tree",
        "jellyfish",
        "dragonfly",
        "custom",
    ],
    max_ports: crate::counts::PORTS as u8,
    switches: SwitchKind::Router,
    routing: "ecmp",
    settings: &ROUTERS,
    ..NONE
};

/// Settings of switches that detect dead neighbours by hellos, which the fabric sends for them.
pub const HELLOS: [Setting; 2] = [
    Setting {
        name: "hello_secs",
        title: "Hello interval",
        description: "Time from one hello to the next, on every link in both directions.",
        whole: false,
        unit: "s",
        minimum: 0.01,
        maximum: 10.0,
        default: 0.05,
        source: "[ours]",
    },
    Setting {
        name: "dead_after",
        title: "Missed hellos before a neighbour is dead",
        description: "A link that is silent for so many hellos carries nothing more until one is heard again.",
        whole: true,
        unit: "",
        minimum: 2.0,
        maximum: 100.0,
        default: 3.0,
        source: "[ours]",
    },
];

/// Settings of routers, and of the servers connected to them.
const ROUTERS: [Setting; 3] = [
    HELLOS[0],
    HELLOS[1],
    Setting {
        name: "rebind_secs",
        title: "Rebinding interval (balance by load)",
        description: "Time after which controllers bind flows to ToRs anew. 0: 10 ms times what planned links are faster, \
            0.5 to 10 s.",
        whole: false,
        unit: "s",
        minimum: 0.0,
        maximum: 3600.0,
        default: 0.0,
        source: "[subways §8.1]",
    },
];

/// All protocols in the order of the menus. The first one that supports a family is the family's
/// default.
pub const PROTOCOLS: &[ProtocolEntry] = &[
    bcube::ENTRY,
    camcube::ENTRY,
    dcell::ENTRY,
    ROUTED,
    NONE,
    portland::ENTRY,
    echo::ENTRY,
];

/// The protocol with this name.
pub fn protocol(name: &str) -> Option<&'static ProtocolEntry> {
    PROTOCOLS.iter().find(|entry| entry.name == name)
}

/// The default protocol of a family's servers.
pub fn default_protocol(family: &str) -> Option<&'static ProtocolEntry> {
    PROTOCOLS.iter().find(|entry| entry.families.contains(&family))
}

//! Compiled programs for the kernel, which are included in the binaries.
//!
//! An object has the maps of every forwarding (`drops`, `traffic`, `flow_counts`, `events`: see
//! `bpf/common/`), and its own tables, named as in their schemas.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_chip::{COUNTERS, Flaw, PORTS, Place, Register, ServerSwitch};

use crate::configuration::ConfigurationError;
use crate::inspection::Section;
use crate::tables::{TableError, TableSchema, TableUpdate};

/// Bytes with the alignment that a loader needs.
#[repr(C, align(32))]
pub struct Aligned<T: ?Sized>(pub T);

/// Number of counting registers of a chip, which is a processor's part of the map `registers`.
pub const REGISTERS: usize = COUNTERS;

/// Distance between the parts of two processors in that map, in entries.
pub const REGISTER_STRIDE: usize = 64;
const _: () = assert!(REGISTERS <= REGISTER_STRIDE);

/// Sets the queue length of a port in bytes among the values of [`REGISTERS`]. Ignores ports that a
/// chip does not have.
pub fn set_queue_bytes(counters: &mut [u64; REGISTERS], port: u16, bytes: u64) {
    let port = u8::try_from(port).ok().filter(|port| *port < PORTS);
    let slot = port.and_then(|port| Register::QueueBytes(port).slot());
    if let Some(register) = slot.and_then(|slot| counters.get_mut(slot)) {
        *register = bytes;
    }
}

/// The index of a port's sent bytes among [`REGISTERS`]; `None` for a port that a chip does not
/// have.
pub fn sent_bytes(port: u8) -> Option<usize> {
    let port = Some(port).filter(|port| *port < PORTS)?;
    Register::OutBytes(port).slot()
}

/// The index of a port's received packets among [`REGISTERS`]; `None` for a port that a chip does
/// not have.
pub fn received_packets(port: u8) -> Option<usize> {
    let port = Some(port).filter(|port| *port < PORTS)?;
    Register::InPackets(port).slot()
}

/// A compiled object with the names of its programs.
#[derive(Clone, Copy)]
pub struct KernelObject {
    /// The object, aligned for a loader.
    pub bytes: &'static [u8],
    /// The program at the egress of the virtual network card; `None` without such a program.
    pub virtual_nic: Option<&'static str>,
    /// The program at the ingress of each port.
    pub port: &'static str,
    /// Further tables of the object; `None` if it only has the protocol's tables.
    pub own_tables: Option<OwnTables>,
}

/// Tables of an object that are derived from the protocol's tables.
#[derive(Clone, Copy)]
pub struct OwnTables {
    /// The schemas of these tables. Only the translation writes them.
    pub schemas: &'static [TableSchema],
    /// Creates the translation for one server.
    pub translate: fn() -> Box<dyn Translate>,
    /// Parses the question in a copy for the CPU, a record of the object's ring `punts`; `None` if
    /// the copy has no question.
    pub question: fn(&[u8]) -> Option<Question>,
    /// The program at the egress of the virtual network card's other end, for packets that users'
    /// programs send through the chip; `None` if they cannot.
    pub from_programs: Option<&'static str>,
}

/// A question about the length of the queue that a packet joins. The source marks the packet, and
/// the chip copies it to its CPU, which answers. `[serverswitch §5.2]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Time on the monotonic clock.
    pub at_nanos: u64,
    /// The server that sent the question.
    pub source: Ipv4Addr,
    /// The port by which the source sends on this path.
    pub source_port: u8,
    /// The port whose queue the packet joins.
    pub out_port: u8,
    /// The processor of the host that forwarded the packet.
    pub processor: u32,
}

/// Updates an object's own tables when the protocol's tables change.
pub trait Translate: Send + std::fmt::Debug {
    /// The updates of all the object's tables for a change of the protocol's tables, in the order
    /// to apply them, including the change itself. Errors: a change that the object's tables cannot
    /// represent.
    fn translate(
        &mut self,
        update: &TableUpdate,
        read: &ReadEntry<'_>,
    ) -> Result<Vec<TableUpdate>, TableError>;

    /// The updates that replace the current program by a user's program. Errors: not supported, or
    /// a program that cannot run here; then nothing has changed.
    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError>;

    /// The update that makes the chip mark one packet per `bytes` bytes that the server sends by a
    /// port, on average; 0 for no marks.
    fn mark_every(&self, port: u8, bytes: u32) -> TableUpdate;

    /// The content of the object's own tables, for display. `counters` is the object's map
    /// `registers`, summed over processors, with the waiting bytes of each port filled in.
    fn inspect(&self, read: &ReadEntry<'_>, counters: &[u64]) -> Vec<Section>;

    /// Every register with its value.
    fn registers(&self, counters: &[u64]) -> Vec<(String, u64)>;

    /// One register. `counter` reads a counter by its index among [`REGISTERS`], and is only called
    /// for this register's. Errors: no such register.
    fn register(&self, name: &str, counter: &ReadCounter<'_>) -> Result<u64, ConfigurationError>;

    /// The updates that write a register. Errors: the register does not exist, or cannot have this
    /// value.
    fn write_register(
        &mut self,
        name: &str,
        value: u64,
        counter: &ReadCounter<'_>,
    ) -> Result<Vec<TableUpdate>, ConfigurationError>;

    /// The chip as users' programs see it; `None` if they cannot call it.
    fn called(&mut self) -> Option<&mut dyn CalledInKernel> {
        None
    }
}

/// A chip in the kernel whose tables users' programs can set by calls `[serverswitch §3.3.2]`.
pub trait CalledInKernel {
    /// The driver: the program with the entries that calls have set. Its counters are not used.
    fn driver(&self) -> &ServerSwitch;

    /// The updates for several calls, given as text; all of them take effect, or none. Errors:
    /// everything that is wrong, or that the kernel's chip does not support; then nothing changes.
    fn execute(&mut self, calls: &str, read: &ReadEntry<'_>) -> Result<Vec<TableUpdate>, Vec<Flaw>>;

    /// Number of packets that each entry has matched. O(entries).
    fn hits(&self, read: &ReadEntry<'_>) -> BTreeMap<Place, u64>;

    /// The value of a register.
    fn value(&self, register: Register, counter: &ReadCounter<'_>) -> u64;

    /// The updates that write a register. Errors: the register does not exist, or cannot have this
    /// value.
    fn write(&mut self, name: &str, value: u64, counter: &ReadCounter<'_>) -> Result<Vec<TableUpdate>, Flaw>;
}

/// Reads an entry's value by table and key; `None` if it does not exist.
pub type ReadEntry<'a> = dyn Fn(&str, &[u8]) -> Option<Vec<u8>> + 'a;

/// Reads a counter by its index; `None` if it cannot be read.
pub type ReadCounter<'a> = dyn Fn(usize) -> Option<u64> + 'a;

impl std::fmt::Debug for KernelObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "KernelObject({:?}, {}, {} bytes)",
            self.virtual_nic,
            self.port,
            self.bytes.len()
        )
    }
}

/// Includes a compiled object with the necessary alignment.
#[macro_export]
macro_rules! include_object {
    ($path:literal) => {{
        static OBJECT: &$crate::object::Aligned<[u8]> = &$crate::object::Aligned(*include_bytes!($path));
        &OBJECT.0
    }};
}

/// Hides packets of a server whose node forwards in user space from the kernel's stack: at the
/// ingress of each port and of the virtual network card's inner end.
pub const GUARD: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/guard/guard.bpf.o"),
    virtual_nic: None,
    port: "cubeyard_guard",
    own_tables: None,
};

/// Gives each flow a separate queue at an end of a link. One program is for servers, one for
/// switches.
pub const FAIR: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/fair/fair.bpf.o"),
    virtual_nic: Some("cubeyard_fair_server"),
    port: "cubeyard_fair_switch",
    own_tables: None,
};

/// Reads the queue length of a port when a marked packet leaves by it. Its licence includes the
/// GPL.
pub const QUEUE: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/queue/queue.bpf.o"),
    virtual_nic: None,
    port: "cubeyard_queue",
    own_tables: None,
};

/// The programs of [`FAIR`] with a separate queue for each service: for servers and for switches.
pub const FAIR_SERVICES: [&str; 2] = ["cubeyard_services_server", "cubeyard_services_switch"];

/// The program of [`FAIR`] that sends all packets to one queue.
pub const FAIR_COMMON: &str = "cubeyard_fair_common";

//! Compiled programs for the kernel, which travel inside the binaries.
//!
//! An object has the maps that every forwarding has (`drops`, `traffic`, `flow_counts`, `events`:
//! see `bpf/common/`) and its own tables, by the names of their schemas.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_chip::{COUNTERS, Flaw, PORTS, Place, Register, ServerSwitch};

use crate::configuration::ConfigurationError;
use crate::inspection::Section;
use crate::tables::{TableError, TableSchema, TableUpdate};

/// Bytes aligned as a loader needs them.
#[repr(C, align(32))]
pub struct Aligned<T: ?Sized>(pub T);

/// Registers of a chip that count: a processor's part of an object's map `registers`.
pub const REGISTERS: usize = COUNTERS;

/// Entries of that map from a processor's part to the next one's.
pub const REGISTER_STRIDE: usize = 64;
const _: () = assert!(REGISTERS <= REGISTER_STRIDE);

/// Sets the number of bytes that wait at a port among the values of [`REGISTERS`]; ports that a
/// chip does not have are ignored.
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

/// Where the packets that have come in by a port stand among [`REGISTERS`]; `None` of a port that a
/// chip has not.
pub fn received_packets(port: u8) -> Option<usize> {
    let port = Some(port).filter(|port| *port < PORTS)?;
    Register::InPackets(port).slot()
}

/// A compiled object and its programs' names.
#[derive(Clone, Copy)]
pub struct KernelObject {
    /// The object, aligned for a loader.
    pub bytes: &'static [u8],
    /// The program at the egress of the virtual network card; `None` where there is none.
    pub virtual_nic: Option<&'static str>,
    /// The program at the ingress of each port.
    pub port: &'static str,
    /// Tables that the object has in addition to the protocol's; `None` if it uses only the
    /// protocol's tables.
    pub own_tables: Option<OwnTables>,
}

/// Tables of an object that follow from the protocol's.
#[derive(Clone, Copy)]
pub struct OwnTables {
    /// Their schemas. Only the translation writes them.
    pub schemas: &'static [TableSchema],
    /// Makes the translation of one server.
    pub translate: fn() -> Box<dyn Translate>,
    /// Parses the question in a copy for the CPU, a record of the object's ring `punts`; `None` if
    /// the copy has no question.
    pub question: fn(&[u8]) -> Option<Question>,
    /// The program at the egress of the virtual network card's other end, for packets that users'
    /// programs hand to the chip; `None` where they cannot.
    pub from_programs: Option<&'static str>,
}

/// A question of a packet's source, of which a chip's CPU has got a copy: how long is the queue
/// that the packet joins? `[serverswitch §5.2]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// When, on the monotonic clock.
    pub at_nanos: u64,
    /// The server that sent the question.
    pub source: Ipv4Addr,
    /// The port by which it sends on this path.
    pub source_port: u8,
    /// The port whose queue the packet joins.
    pub out_port: u8,
    /// The processor of the host that forwarded the packet.
    pub processor: u32,
}

/// Keeps an object's own tables in step with the protocol's.
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

    /// The update that marks one of the server's packets per `bytes` bytes sent by a port, on
    /// average; 0: none.
    fn mark_every(&self, port: u8, bytes: u32) -> TableUpdate;

    /// The content of the object's own tables, for display. `counters` is the object's map
    /// `registers`, summed over processors, with the waiting bytes of each port filled in.
    fn inspect(&self, read: &ReadEntry<'_>, counters: &[u64]) -> Vec<Section>;

    /// Every register with its value.
    fn registers(&self, counters: &[u64]) -> Vec<(String, u64)>;

    /// One register; `counter` reads what the object has counted at its place among [`REGISTERS`],
    /// and is called for no other. Errors: no such register.
    fn register(&self, name: &str, counter: &ReadCounter<'_>) -> Result<u64, ConfigurationError>;

    /// The updates that write a register. Errors: the register does not exist, or cannot have this
    /// value.
    fn write_register(
        &mut self,
        name: &str,
        value: u64,
        counter: &ReadCounter<'_>,
    ) -> Result<Vec<TableUpdate>, ConfigurationError>;

    /// The chip as users' programs call it; `None` where they cannot.
    fn called(&mut self) -> Option<&mut dyn CalledInKernel> {
        None
    }
}

/// A chip in the kernel whose tables users' programs set by calls `[serverswitch §3.3.2]`.
pub trait CalledInKernel {
    /// The driver: the program with what calls have set over it. Its counters count nothing.
    fn driver(&self) -> &ServerSwitch;

    /// The updates for a text of calls, all or none of it. Errors: everything that is wrong, or
    /// that the kernel's chip does not support; then nothing has changed.
    fn execute(&mut self, calls: &str, read: &ReadEntry<'_>) -> Result<Vec<TableUpdate>, Vec<Flaw>>;

    /// Packets that entries have decided about. O(entries).
    fn hits(&self, read: &ReadEntry<'_>) -> BTreeMap<Place, u64>;

    /// The value of a register.
    fn value(&self, register: Register, counter: &ReadCounter<'_>) -> u64;

    /// The updates that write a register. Errors: the register does not exist, or cannot have this
    /// value.
    fn write(&mut self, name: &str, value: u64, counter: &ReadCounter<'_>) -> Result<Vec<TableUpdate>, Flaw>;
}

/// Reads the value of an entry by table and key; `None` where there is none.
pub type ReadEntry<'a> = dyn Fn(&str, &[u8]) -> Option<Vec<u8>> + 'a;

/// Reads a counter by its place; `None` of one that cannot be read.
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

/// Includes a compiled object, aligned.
#[macro_export]
macro_rules! include_object {
    ($path:literal) => {{
        static OBJECT: &$crate::object::Aligned<[u8]> = &$crate::object::Aligned(*include_bytes!($path));
        &OBJECT.0
    }};
}

/// Keeps the stack out of the packets of a server whose node forwards in user space: at the ingress
/// of each port and of the virtual network card's inner end.
pub const GUARD: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/guard/guard.bpf.o"),
    virtual_nic: None,
    port: "cubeyard_guard",
    own_tables: None,
};

/// Gives each flow a separate queue at an end of a link: at a server, and at a switch.
pub const FAIR: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/fair/fair.bpf.o"),
    virtual_nic: Some("cubeyard_fair_server"),
    port: "cubeyard_fair_switch",
    own_tables: None,
};

/// Reads the number of waiting bytes at a port for a packet that requests it on its way out. Its
/// licence includes the GPL.
pub const QUEUE: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/queue/queue.bpf.o"),
    virtual_nic: None,
    port: "cubeyard_queue",
    own_tables: None,
};

/// The programs of [`FAIR`] that give each service a separate queue: at a server, and at a switch.
pub const FAIR_SERVICES: [&str; 2] = ["cubeyard_services_server", "cubeyard_services_switch"];

/// The program of [`FAIR`] that gives all packets one queue.
pub const FAIR_COMMON: &str = "cubeyard_fair_common";

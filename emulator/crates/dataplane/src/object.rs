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

/// Says among the values of [`REGISTERS`] how many bytes wait at a port; one that a chip has not is
/// passed over.
pub fn set_queue_bytes(counters: &mut [u64; REGISTERS], port: u16, bytes: u64) {
    let port = u8::try_from(port).ok().filter(|port| *port < PORTS);
    let slot = port.and_then(|port| Register::QueueBytes(port).slot());
    if let Some(register) = slot.and_then(|slot| counters.get_mut(slot)) {
        *register = bytes;
    }
}

/// Where what has been sent by a port stands among [`REGISTERS`]; `None` of a port that a chip has
/// not.
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
    /// Tables that the object has beside the protocol's; `None` where it forwards by the protocol's
    /// own.
    pub own_tables: Option<OwnTables>,
}

/// Tables of an object that follow from the protocol's.
#[derive(Clone, Copy)]
pub struct OwnTables {
    /// What they look like. Nobody writes them but the translation.
    pub schemas: &'static [TableSchema],
    /// Makes the translation of one server.
    pub translate: fn() -> Box<dyn Translate>,
    /// The question in a copy for the CPU, a record of the object's ring `punts`; `None` of a copy
    /// that asks nothing.
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
    /// The server that asks.
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
    /// What a change of the protocol's tables means for all of the object's, in the order to apply
    /// it. The change itself is among it. Errors: a change that the object's tables cannot follow.
    fn translate(
        &mut self,
        update: &TableUpdate,
        read: &ReadEntry<'_>,
    ) -> Result<Vec<TableUpdate>, TableError>;

    /// What puts a user's program in place of the present one. Errors: no such program, or one that
    /// cannot be run here; then nothing has changed.
    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError>;

    /// Has the server mark a packet every so many bytes of its own that go out by a port, on
    /// average; 0: none.
    fn mark_every(&self, port: u8, bytes: u32) -> TableUpdate;

    /// What the object's own tables hold now, for people. `counters` are those of the object's map
    /// `registers`, added up over processors, with the bytes that wait at each port filled in.
    fn inspect(&self, read: &ReadEntry<'_>, counters: &[u64]) -> Vec<Section>;

    /// Every register with its value.
    fn registers(&self, counters: &[u64]) -> Vec<(String, u64)>;

    /// One register; `counter` reads what the object has counted at its place among [`REGISTERS`],
    /// and is called for no other. Errors: no such register.
    fn register(&self, name: &str, counter: &ReadCounter<'_>) -> Result<u64, ConfigurationError>;

    /// What writes a register. Errors: no such register, or none that can have this value.
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

    /// What carries out a text of calls, all of it or none. Errors: everything that is wrong, or
    /// that the kernel's chip does not have; then nothing has changed.
    fn execute(&mut self, calls: &str, read: &ReadEntry<'_>) -> Result<Vec<TableUpdate>, Vec<Flaw>>;

    /// Packets that entries have decided about. O(entries).
    fn hits(&self, read: &ReadEntry<'_>) -> BTreeMap<Place, u64>;

    /// A register's value.
    fn value(&self, register: Register, counter: &ReadCounter<'_>) -> u64;

    /// What writes a register. Errors: no such register, or none that can have this value.
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

/// Gives each flow a queue of its own at an end of a link: at a server, and at a switch.
pub const FAIR: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/fair/fair.bpf.o"),
    virtual_nic: Some("cubeyard_fair_server"),
    port: "cubeyard_fair_switch",
    own_tables: None,
};

/// Reads how much waits at a port when a packet that leaves by it asks. Its licence is the GPL's
/// too.
pub const QUEUE: KernelObject = KernelObject {
    bytes: include_object!("../../../bpf/queue/queue.bpf.o"),
    virtual_nic: None,
    port: "cubeyard_queue",
    own_tables: None,
};

/// The programs of [`FAIR`] that give each service a queue of its own: at a server, and at a
/// switch.
pub const FAIR_SERVICES: [&str; 2] = ["cubeyard_services_server", "cubeyard_services_switch"];

/// The program of [`FAIR`] that gives all packets one queue.
pub const FAIR_COMMON: &str = "cubeyard_fair_common";

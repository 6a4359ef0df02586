//! Compiled programs for the kernel, which travel inside the binaries.
//!
//! An object has the maps that every forwarding has (`drops`, `traffic`, `flow_counts`, `events`: see `bpf/common/`)
//! and its own tables, by the names of their schemas.

use crate::inspection::Section;
use crate::tables::{TableError, TableSchema, TableUpdate};

/// Bytes aligned as a loader needs them.
#[repr(C, align(32))]
pub struct Aligned<T: ?Sized>(pub T);

/// A compiled object and its programs' names.
#[derive(Clone, Copy)]
pub struct KernelObject {
    /// The object, aligned for a loader.
    pub bytes: &'static [u8],
    /// The program at the egress of the virtual network card; `None` where there is none.
    pub virtual_nic: Option<&'static str>,
    /// The program at the ingress of each port.
    pub port: &'static str,
    /// Tables that the object has beside the protocol's; `None` where it forwards by the protocol's own.
    pub own_tables: Option<OwnTables>,
}

/// Tables of an object that follow from the protocol's.
#[derive(Clone, Copy)]
pub struct OwnTables {
    /// What they look like. Nobody writes them but the translation.
    pub schemas: &'static [TableSchema],
    /// Makes the translation of one server.
    pub translate: fn() -> Box<dyn Translate>,
}

/// Keeps an object's own tables in step with the protocol's.
pub trait Translate: Send + std::fmt::Debug {
    /// What a change of the protocol's tables means for all of the object's, in the order to apply it. The change itself is among
    /// it. Errors: a change that the object's tables cannot follow.
    fn translate(&mut self, update: &TableUpdate) -> Result<Vec<TableUpdate>, TableError>;

    /// What puts a user's program in place of the present one. Errors: no such program, or one that cannot be run here; then
    /// nothing has changed.
    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError>;

    /// What the object's own tables hold now, for people.
    fn inspect(&self, read: &ReadEntry<'_>) -> Vec<Section>;
}

/// Reads the value of an entry by table and key; `None` where there is none.
pub type ReadEntry<'a> = dyn Fn(&str, &[u8]) -> Option<Vec<u8>> + 'a;

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

/// Keeps the stack out of the packets of a server whose node forwards in user space: at the ingress of each port and
/// of the virtual network card's inner end.
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

/// The program of [`FAIR`] that gives all packets one queue.
pub const FAIR_COMMON: &str = "cubeyard_fair_common";

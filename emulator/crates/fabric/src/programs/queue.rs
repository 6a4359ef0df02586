//! The program that reads how much waits at ports: an object of its own, whose licence allows it to read the kernel's memory.

use std::sync::{LazyLock, Mutex, PoisonError};

use aya::maps::{Array, MapData};
use aya::{Btf, Ebpf, EbpfLoader};
use cubeyard_dataplane::object::QUEUE;

use super::object::{descriptor, program};
use crate::error::{During, FabricError, Result};
use crate::netlink::{Batch, Hook, add_program};

/// The loaded program of one server.
pub struct QueueReader {
    loaded: Ebpf,
    queues: Option<Queues>,
}

/// What waited at each port when it was asked last.
pub struct Queues(Array<MapData, [u64; 2]>);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// In bytes.
    pub bytes: u64,
    /// When, on the monotonic clock.
    pub at_nanos: u64,
}

impl Queues {
    /// Of a port. A call of the kernel, of less than a microsecond.
    pub fn get(&self, port: u8) -> Result<Waiting> {
        let [bytes, at_nanos] = self
            .0
            .get(&port.into(), 0)
            .during(|| "reading a queue".to_owned())?;
        Ok(Waiting { bytes, at_nanos })
    }
}

impl QueueReader {
    /// Loads the program for ports with these interfaces, by number. Nothing is attached yet. Errors: a kernel that does not describe
    /// its types.
    pub fn load(ports: impl IntoIterator<Item = (u16, u32)>) -> Result<QueueReader> {
        // Reading all types of the kernel takes 20 ms: once a process.
        static TYPES: LazyLock<std::result::Result<Btf, String>> =
            LazyLock::new(|| Btf::from_sys_fs().map_err(|error| error.to_string()));
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let types = TYPES.as_ref().map_err(|error| {
            let fix = "take a kernel with CONFIG_DEBUG_INFO_BTF";
            FabricError::unsupported(format!("the kernel does not describe its types: {error}"), fix)
        })?;
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = || "loading the reader of queues".to_owned();
        let mut loaded = EbpfLoader::new()
            .btf(Some(types))
            .load(QUEUE.bytes)
            .during(failed)?;
        program(&mut loaded, QUEUE.port)?.load().during(failed)?;
        let missing = || FabricError::system("loading the reader of queues", "the object has not its maps");
        let interfaces = loaded.take_map("interfaces").ok_or_else(missing)?;
        let mut interfaces: Array<MapData, u32> = interfaces.try_into().during(failed)?;
        for (port, index) in ports {
            interfaces.set(port.into(), index, 0).during(failed)?;
        }
        let queues = loaded.take_map("queues").ok_or_else(missing)?;
        Ok(QueueReader {
            queues: Some(Queues(queues.try_into().during(failed)?)),
            loaded,
        })
    }

    /// Attaches the program to a port that has a forwarding program already.
    pub fn attach(&self, batch: &mut Batch, index: u32) -> Result<()> {
        add_program(batch, index, descriptor(&self.loaded, QUEUE.port)?, Hook::Egress);
        Ok(())
    }

    /// Gives what waits at ports to whoever answers questions; `None` once it is given.
    pub fn take_queues(&mut self) -> Option<Queues> {
        self.queues.take()
    }
}

//! The program that reads queue lengths of ports. It is a separate object under a licence that
//! allows it to read the kernel's memory.

use std::sync::{LazyLock, Mutex, PoisonError};

use aya::maps::{Array, MapData};
use aya::{Btf, Ebpf, EbpfLoader};
use cubeyard_dataplane::object::QUEUE;

use super::mapped::Mapped;
use super::object::{descriptor, program};
use crate::error::{During, FabricError, Result};
use crate::netlink::{Batch, Hook, add_program};

/// The loaded program of one server.
pub struct QueueReader {
    loaded: Ebpf,
    queues: Option<Queues>,
}

/// The queue length of each port when the program last ran.
pub struct Queues(Mapped);

/// Number of ports in the object, and the words that it writes for each: bytes, then the time.
const PORTS: usize = 8;
const WORDS: usize = 2;

/// Queue length of a port at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Bytes in the queue.
    pub bytes: u64,
    /// Time of the reading, on the monotonic clock.
    pub at_nanos: u64,
}

impl Queues {
    /// Queue length of a port, without a system call; 0 for an unknown port.
    pub fn get(&self, port: u8) -> Waiting {
        let at = usize::from(port) * WORDS;
        // The program writes the time last, so that it must be read first.
        let at_nanos = self.0.word(at + 1);
        let bytes = self.0.word(at);
        Waiting { bytes, at_nanos }
    }
}

impl QueueReader {
    /// Loads the program for ports with these interface numbers. Attaches nothing yet. Errors: a
    /// kernel without descriptions of its types.
    pub fn load(ports: impl IntoIterator<Item = (u16, u32)>) -> Result<QueueReader> {
        // Reading all types of the kernel takes 20 ms, so each process does it once.
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
            queues: Some(Queues(Mapped::open(queues, "queues", PORTS, WORDS)?)),
            loaded,
        })
    }

    /// Attaches the program to a port that already has a forwarding program.
    pub fn attach(&self, batch: &mut Batch, index: u32) -> Result<()> {
        add_program(batch, index, descriptor(&self.loaded, QUEUE.port)?, Hook::Egress);
        Ok(())
    }

    /// Hands over the queue lengths; `None` after the first call.
    pub fn take_queues(&mut self) -> Option<Queues> {
        self.queues.take()
    }
}

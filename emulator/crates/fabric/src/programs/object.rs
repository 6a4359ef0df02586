//! The programs of a protocol in the kernel, for one server: the protocol's tables, and the maps
//! that every object has.

use std::array;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{LazyLock, Mutex, PoisonError};

use aya::maps::{Map, MapData, PerCpuArray, RingBuf};
use aya::programs::{Program, SchedClassifier};
use aya::{Ebpf, EbpfLoader};
use cubeyard_dataplane::chip_tables::set_cpu_socket;
use cubeyard_dataplane::counts::{FlowCount, Traffic};
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::Section;
use cubeyard_dataplane::object::{
    KernelObject, Question, REGISTERS, Translate, received_packets, sent_bytes, set_queue_bytes,
};
use cubeyard_dataplane::tables::{TableError, TableKind, TableSchema, TableUpdate};
use zerocopy::FromBytes;

use super::called::CalledChip;
use super::maps::Table;
use super::registers::{self, Registers};
use crate::error::{During, FabricError, Result};
use crate::netlink::{Batch, Hook, attach_program};

/// Name of the table of bytes per flow, which every object has.
const FLOW_COUNTS: &str = "flow_counts";

/// The forwarding of one server in the kernel.
pub struct Programs {
    object: KernelObject,
    loaded: Ebpf,
    tables: BTreeMap<&'static str, Table>,
    /// Updates the object's internal tables when the protocol's tables change.
    translation: Option<Box<dyn Translate>>,
    drops: PerCpuArray<MapData, u64>,
    traffic: PerCpuArray<MapData, [u8; size_of::<Traffic>()]>,
    /// Counters of a chip; `None` for an object without a chip.
    registers: Option<Registers>,
    /// Packets for users' programs; `None` without such programs.
    packets: Option<MapData>,
    /// Copies of packets for a chip's CPU; `None` without a chip, or after somebody has taken them.
    punts: Option<RingBuf<MapData>>,
    /// Records for the server's protocol; wait on it with epoll.
    pub notices: RingBuf<MapData>,
}

/// The copies of packets that a chip makes for its CPU. Epoll reports when one waits.
pub struct Questions {
    ring: RingBuf<MapData>,
    question: fn(&[u8]) -> Option<Question>,
}

impl Questions {
    /// The next copy, if one waits; the inner value is `None` if the copy is no question.
    pub fn next_copy(&mut self) -> Option<Option<Question>> {
        let record = self.ring.next()?;
        Some((self.question)(&record))
    }
}

impl AsFd for Questions {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

pub(super) fn failed(what: impl Into<String>) -> impl FnOnce() -> String {
    let what = what.into();
    move || what
}

macro_rules! take {
    ($loaded:ident, $name:literal) => {
        $loaded
            .take_map($name)
            .ok_or_else(|| FabricError::system("loading programs", concat!("the object has no map ", $name)))?
            .try_into()
            .during(failed(concat!("opening the map ", $name)))?
    };
}

impl Programs {
    /// Creates the maps and loads the programs, which the kernel verifies. Attaches nothing yet.
    pub fn load(object: KernelObject, schemas: &'static [TableSchema]) -> Result<Programs> {
        let mut loaded = open(object)?;
        let from_programs = object.own_tables.and_then(|own| own.from_programs);
        for name in object
            .virtual_nic
            .into_iter()
            .chain([object.port])
            .chain(from_programs)
        {
            program(&mut loaded, name)?
                .load()
                .during(failed(format!("loading the program {name}")))?;
        }
        let own = object.own_tables.map_or(&[][..], |own| own.schemas);
        let tables = schemas.iter().chain(own).map(|schema| {
            let map = loaded.take_map(schema.name);
            let table = map.and_then(|map| Table::open(map, schema));
            let wrong = || format!("the object's map {} is not what its schema says", schema.name);
            let table = table.ok_or_else(|| FabricError::system("loading programs", wrong()))?;
            Ok((schema.name, table))
        });
        Ok(Programs {
            tables: tables.collect::<Result<_>>()?,
            translation: object.own_tables.map(|own| (own.translate)()),
            punts: match loaded.take_map("punts") {
                Some(map) => Some(map.try_into().during(failed("opening the map punts"))?),
                None => None,
            },
            registers: loaded.take_map(registers::MAP).map(Registers::open).transpose()?,
            packets: match loaded.take_map("packets") {
                Some(Map::RingBuf(map)) => Some(map),
                _ => None,
            },
            drops: take!(loaded, "drops"),
            traffic: take!(loaded, "traffic"),
            notices: take!(loaded, "events"),
            object,
            loaded,
        })
    }

    /// Attaches the program for packets of applications to the virtual network card, given by its
    /// number. A program stays attached as long as the interface exists.
    pub fn attach_to_nic(&self, batch: &mut Batch, index: u32) -> Result<()> {
        if let Some(name) = self.object.virtual_nic {
            attach_program(batch, index, descriptor(&self.loaded, name)?, Hook::Egress);
        }
        Ok(())
    }

    /// Attaches the program for packets from other servers to a port, given by its interface
    /// number.
    pub fn attach_to_port(&self, batch: &mut Batch, index: u32) -> Result<()> {
        let program = descriptor(&self.loaded, self.object.port)?;
        attach_program(batch, index, program, Hook::Ingress);
        Ok(())
    }

    /// Attaches the program for packets that users' programs send through the chip to the far end
    /// of the virtual network card, given by its number. Returns false if the object has no such
    /// program.
    pub fn attach_to_peer(&self, batch: &mut Batch, index: u32) -> Result<bool> {
        let Some(name) = self.object.own_tables.and_then(|own| own.from_programs) else {
            return Ok(false);
        };
        attach_program(batch, index, descriptor(&self.loaded, name)?, Hook::Egress);
        Ok(true)
    }

    /// The ring of packets for users' programs; `None` without such programs.
    pub fn packets(&self) -> Option<BorrowedFd<'_>> {
        self.object.own_tables?.from_programs?;
        self.packets.as_ref().map(|map| map.fd().as_fd())
    }

    /// Makes the chip treat packets of a socket, identified by its cookie, as packets of users'
    /// programs.
    pub fn take_packets_of(&mut self, cookie: u64) -> Result<()> {
        let written = self.write(&set_cpu_socket(cookie));
        written.during(failed("naming the socket of a chip's CPU"))
    }

    /// The chip as users' programs see it; `None` without a chip. `queues` are the queue lengths of
    /// ports in bytes.
    pub fn called<'a>(&'a mut self, queues: &'a [(u16, u64)]) -> Option<CalledChip<'a>> {
        Some(CalledChip {
            chip: self.translation.as_mut()?.called()?,
            tables: &mut self.tables,
            registers: self.registers.as_ref(),
            queues,
        })
    }

    /// The schema of a table.
    pub fn schema(&self, table: &str) -> Option<&'static TableSchema> {
        self.tables.get(table).map(Table::schema)
    }

    /// Sets or removes an entry of a table, and updates the object's internal tables that depend on
    /// it. Callers first check that the protocol may write it.
    pub fn apply(&mut self, update: &TableUpdate) -> std::result::Result<(), TableError> {
        match &mut self.translation {
            Some(translation) => {
                let tables = &self.tables;
                let read = |table: &str, key: &[u8]| tables.get(table)?.get(key);
                let updates = translation.translate(update, &read)?;
                updates.iter().try_for_each(|update| self.write(update))
            }
            None => self.write(update),
        }
    }

    /// Replaces the current program by a user's, atomically. Errors: an object that users cannot
    /// program, or a program that the server cannot run; then nothing changes.
    pub fn set_program(&mut self, text: &str) -> std::result::Result<(), TableError> {
        let Some(translation) = &mut self.translation else {
            return Err(TableError::new("program", "users cannot program this forwarding"));
        };
        let updates = translation.set_program(text)?;
        updates.iter().try_for_each(|update| self.write(update))
    }

    fn write(&mut self, update: &TableUpdate) -> std::result::Result<(), TableError> {
        write(&mut self.tables, update)
    }

    /// Contents of the object's internal tables, for users. `queues` are the queue lengths of ports
    /// in bytes.
    pub fn inspect(&self, queues: &[(u16, u64)]) -> Vec<Section> {
        let read = |table: &str, key: &[u8]| self.tables.get(table)?.get(key);
        let counters = self.counters(queues);
        let translation = self.translation.as_ref();
        translation.map_or_else(Vec::new, |translation| translation.inspect(&read, &counters))
    }

    /// Every register of the server's chip by name. Errors: a forwarding without a chip in the
    /// kernel.
    pub fn registers(&self, queues: &[(u16, u64)]) -> Result<Vec<(String, u64)>> {
        match &self.translation {
            Some(translation) => Ok(translation.registers(&self.counters(queues))),
            None => Err(no_chip()),
        }
    }

    /// One register by name; reads no other. Errors: a forwarding without a chip in the kernel, no
    /// such register.
    pub fn register(&self, name: &str, queues: &[(u16, u64)]) -> Result<u64> {
        let translation = self.translation.as_ref().ok_or_else(no_chip)?;
        let mut waiting = [0; REGISTERS];
        for &(port, bytes) in queues {
            set_queue_bytes(&mut waiting, port, bytes);
        }
        let counter = |slot: usize| Some(self.counter(slot) + waiting.get(slot)?);
        translation
            .register(name, &counter)
            .map_err(|error| FabricError::bad(error.field, error.value, error.limit, error.fix))
    }

    /// Writes a register: clears a counter, or changes a switch until the next commit. Errors: no
    /// chip, no such register, a value that the register cannot have.
    pub fn write_register(&mut self, name: &str, value: u64) -> Result<()> {
        let translation = self.translation.as_mut().ok_or_else(no_chip)?;
        let registers = &self.registers;
        let updates = translation
            .write_register(name, value, &|slot| Some(counted(registers.as_ref(), slot)))
            .map_err(|error| FabricError::bad(error.field, error.value, error.limit, error.fix))?;
        let written = updates.iter().try_for_each(|update| self.write(update));
        written.during(failed("writing a register"))
    }

    /// Hands over the ring of copies for the CPU; `None` for an object without a ring, or after the
    /// first call.
    pub fn take_questions(&mut self) -> Option<Questions> {
        Some(Questions {
            question: self.object.own_tables?.question,
            ring: self.punts.take()?,
        })
    }

    /// Makes the server's chip mark one packet for every `bytes` that the server itself sends
    /// through a port.
    pub fn mark_every(&mut self, port: u8, bytes: u32) -> Result<()> {
        let update = self
            .translation
            .as_ref()
            .map(|translation| translation.mark_every(port, bytes));
        let written = update.map_or(Ok(()), |update| self.write(&update));
        written.during(failed("setting how often packets are marked"))
    }

    /// Bytes that the chip has sent through a port.
    pub fn sent_bytes(&self, port: u8) -> u64 {
        sent_bytes(port).map_or(0, |slot| self.counter(slot))
    }

    /// Packets that the chip has received through a port.
    pub fn received_packets(&self, port: u8) -> u64 {
        received_packets(port).map_or(0, |slot| self.counter(slot))
    }

    /// The chip's counters, summed over processors.
    fn counters(&self, queues: &[(u16, u64)]) -> [u64; REGISTERS] {
        let mut counters = array::from_fn(|slot| self.counter(slot));
        for &(port, bytes) in queues {
            set_queue_bytes(&mut counters, port, bytes);
        }
        counters
    }

    /// One counter of the chip; 0 without a chip.
    fn counter(&self, slot: usize) -> u64 {
        counted(self.registers.as_ref(), slot)
    }

    /// Removes all state of flows: their entries and their counts.
    pub fn forget_flows(&mut self) {
        for table in self.tables.values_mut() {
            if table.schema().kind == TableKind::LruHash {
                table.clear();
            }
        }
    }

    /// Bytes and packets that each flow has sent since it was first seen.
    pub fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        let Some(table) = self.tables.get(FLOW_COUNTS) else {
            return Vec::new();
        };
        let entry = |key: Vec<u8>| {
            let count = FlowCount::read_from_bytes(&table.get(&key)?).ok()?;
            Some((Flow::read_from_bytes(&key).ok()?, count))
        };
        table.keys().into_iter().filter_map(entry).collect()
    }

    /// The server's traffic, summed over all CPUs.
    pub fn traffic(&self) -> Result<Traffic> {
        let values = self
            .traffic
            .get(&0, 0)
            .during(failed("reading the map traffic"))?;
        let parts = values
            .iter()
            .filter_map(|bytes| Traffic::read_from_bytes(bytes).ok());
        Ok(parts.fold(Traffic::default(), |sum, part| Traffic {
            own_packets: sum.own_packets + part.own_packets,
            own_bytes: sum.own_bytes + part.own_bytes,
            relayed_packets: sum.relayed_packets + part.relayed_packets,
            relayed_bytes: sum.relayed_bytes + part.relayed_bytes,
            delivered_packets: sum.delivered_packets + part.delivered_packets,
            delivered_bytes: sum.delivered_bytes + part.delivered_bytes,
            notices_suppressed: sum.notices_suppressed + part.notices_suppressed,
            sent_packets: array::from_fn(|port| sum.sent_packets[port] + part.sent_packets[port]),
        }))
    }

    /// Packets dropped, by [`DropReason::index`], summed over all CPUs.
    pub fn drops(&self) -> Result<[u64; DropReason::COUNT]> {
        let mut drops = [0; DropReason::COUNT];
        for (reason, count) in drops.iter_mut().enumerate() {
            let values = self
                .drops
                .get(&(reason as u32), 0)
                .during(failed("reading the map drops"))?;
            *count = values.iter().sum();
        }
        Ok(drops)
    }

    /// The next record for the server's protocol, if one waits.
    pub fn next_notice(&mut self) -> Option<Vec<u8>> {
        self.notices.next().map(|item| item.to_vec())
    }
}

/// Sets or removes an entry of a table.
pub(super) fn write(
    tables: &mut BTreeMap<&'static str, Table>,
    update: &TableUpdate,
) -> std::result::Result<(), TableError> {
    match tables.get_mut(&*update.table) {
        Some(table) => table.apply(update),
        None => Err(TableError::new(&update.table, "there is no such table")),
    }
}

/// A register's count, summed over all processors; 0 without a chip.
pub(super) fn counted(registers: Option<&Registers>, slot: usize) -> u64 {
    registers.map_or(0, |registers| registers.counted(slot))
}

fn no_chip() -> FabricError {
    let fix = "run it with the dataplane serverswitch";
    FabricError::unsupported("the run's servers have no chip in the kernel", fix)
}

/// Opens an object: creates a new set of maps and programs.
pub(super) fn open(object: KernelObject) -> Result<Ebpf> {
    // A loader reads all types of the kernel, which takes 20 ms. Our programs need none of them, so
    // all share one loader without types.
    static LOADER: LazyLock<Mutex<EbpfLoader<'static>>> = LazyLock::new(|| {
        let mut loader = EbpfLoader::new();
        loader
            .btf(None)
            .map_max_entries(registers::MAP, registers::entries());
        Mutex::new(loader)
    });
    let mut loader = LOADER.lock().unwrap_or_else(PoisonError::into_inner);
    loader.load(object.bytes).during(failed("loading programs"))
}

pub(super) fn program<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut SchedClassifier> {
    loaded
        .program_mut(name)
        .ok_or_else(|| FabricError::system("loading programs", format!("the object has no program {name}")))?
        .try_into()
        .during(failed("loading programs"))
}

pub(super) fn descriptor<'a>(loaded: &'a Ebpf, name: &str) -> Result<BorrowedFd<'a>> {
    let unloaded = || FabricError::system("attaching programs", format!("{name} is not loaded"));
    match loaded.program(name) {
        Some(Program::SchedClassifier(program)) => program.fd().map(AsFd::as_fd).map_err(|_| unloaded()),
        _ => Err(unloaded()),
    }
}

#[cfg(test)]
mod tests {
    use cubeyard_dataplane::catalog::{ForwardingKind, PROTOCOLS};
    use cubeyard_dataplane::tables::{HexBytes, TableKind, TableUpdate};

    use super::*;
    use crate::host::probe::try_without_chips;

    /// Tests every keyed table of every protocol's object in the kernel.
    #[test]
    fn entries_by_key_are_set_removed_and_cleared() {
        if let Err(error) = try_without_chips() {
            assert!(
                std::env::var_os("CI").is_none(),
                "in CI nothing may skip: {error}"
            );
            eprintln!("skipped: this host cannot emulate: {error}");
            return;
        }
        let forwardings = PROTOCOLS.iter().flat_map(|entry| entry.forwardings);
        for forwarding in forwardings {
            let ForwardingKind::Kernel(object) = forwarding.kind else {
                continue;
            };
            // Opened without its programs: the kernel needs seconds of a processor to verify them.
            let mut opened = open(object).expect("it opens");
            for schema in forwarding
                .tables
                .iter()
                .filter(|schema| schema.kind != TableKind::Array)
            {
                let update = |value: Option<HexBytes>| TableUpdate {
                    table: schema.name.into(),
                    key: HexBytes(vec![1; schema.key_bytes]),
                    value,
                };
                let (set, remove) = (update(Some(HexBytes(vec![2; schema.value_bytes]))), update(None));
                let map = opened.take_map(schema.name).expect("a map");
                let mut table = Table::open(map, schema).expect("a table");
                for _ in 0..2 {
                    table.apply(&set).expect("an entry can be set");
                    assert_eq!(table.get(&set.key.0), set.value.clone().map(|value| value.0));
                    table.apply(&remove).expect("an entry can be removed");
                    assert_eq!(table.get(&set.key.0), None, "{}", schema.name);
                    table
                        .apply(&remove)
                        .expect("removing what is not there is no error");
                }
                table.apply(&set).expect("an entry can be set");
                table.clear();
                assert!(table.keys().is_empty(), "{}", schema.name);
            }
        }
    }
}

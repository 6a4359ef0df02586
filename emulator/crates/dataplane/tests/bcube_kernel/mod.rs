//! Runs the programs of one server in the kernel on single frames by `BPF_PROG_TEST_RUN`. That
//! needs CAP_BPF and CAP_NET_ADMIN: without them tests print a message and pass, but in CI (`CI`
//! set) they fail.
#![allow(dead_code, reason = "each test uses some of it")]

use aya::Ebpf;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, RingBuf};
use aya::util::nr_cpus;
use cubeyard_chip::COUNTERS;
use cubeyard_dataplane::bcube::ENTRY;
use cubeyard_dataplane::bcube::tables::{NEW_FLOW, NEXT_HOP_DEAD, Notice};
use cubeyard_dataplane::catalog::CHIP;
use cubeyard_dataplane::chip_tables::layout::{CpuSide, PacketHead, Punt};
use cubeyard_dataplane::object::REGISTER_STRIDE;
use cubeyard_dataplane::tables::TableUpdate;
use zerocopy::FromBytes;

use crate::bcube_common::{Outcome, Server};
use crate::forwarding_vectors::Entrance;
use crate::kernel_run::{self, map};
use crate::kernel_tables::Tables;

/// Program of the chip alone, without a protocol.
const CHIP_ALONE: &str = "serverswitch_chip";

/// The programs of one server, in the kernel.
pub struct FastPath {
    ebpf: Ebpf,
    tables: Tables,
    server: Server,
}

impl FastPath {
    /// Loads the object of a forwarding of BCube and fills its maps. Prints a message and returns
    /// `None` if the kernel does not allow it.
    pub fn load(server: &Server, forwarding: &str) -> Option<FastPath> {
        let tables = Tables::of(&ENTRY, forwarding);
        let programs = tables.object.virtual_nic.into_iter().chain([tables.object.port]);
        FastPath::with(server, tables, programs)
    }

    /// Loads only the chip's program: the kernel takes a second of a processor to verify each
    /// program that contains the chip.
    pub fn load_chip(server: &Server) -> Option<FastPath> {
        FastPath::with(server, Tables::of(&ENTRY, CHIP), [CHIP_ALONE])
    }

    fn with<'a>(
        server: &Server,
        tables: Tables,
        programs: impl IntoIterator<Item = &'a str>,
    ) -> Option<FastPath> {
        let ebpf = kernel_run::load(tables.object.bytes, programs)?;
        let mut fast_path = FastPath {
            ebpf,
            tables,
            server: server.clone(),
        };
        for update in server.updates() {
            fast_path.tables.apply(&mut fast_path.ebpf, &update);
        }
        Some(fast_path)
    }

    /// Sets the port by which frames arrive. With `BPF_PROG_TEST_RUN` they arrive by the loopback
    /// interface.
    pub fn come_in_by(&mut self, port: u32) {
        const LOOPBACK: u32 = 1;
        let mut ports: Array<_, u32> = map(&mut self.ebpf, "ports");
        ports.set(port, LOOPBACK, 0).unwrap();
    }

    /// Gives a port an interface through which frames can be sent.
    pub fn lead_out(&mut self, port: u32) {
        const SOME: u32 = 77;
        let mut ports: Array<_, u32> = map(&mut self.ebpf, "ports");
        ports.set(port, SOME, 0).unwrap();
    }

    /// The value of an entry in a table of the chip.
    pub fn chip_entry(&mut self, table: &str, key: &[u8]) -> Option<Vec<u8>> {
        let value: Option<[u8; 24]> = match key.len() {
            32 => {
                let entries: HashMap<_, [u8; 32], [u8; 24]> = map(&mut self.ebpf, table);
                entries.get(&key.try_into().unwrap(), 0).ok()
            }
            8 => {
                let entries: HashMap<_, [u8; 8], [u8; 24]> = map(&mut self.ebpf, table);
                entries.get(&key.try_into().unwrap(), 0).ok()
            }
            _ => {
                let (bits, data) = key.split_first_chunk::<4>().unwrap();
                let key = Key::new(u32::from_ne_bytes(*bits), <[u8; 8]>::try_from(data).unwrap());
                let entries: LpmTrie<_, [u8; 8], [u8; 24]> = map(&mut self.ebpf, table);
                entries.get(&key, 0).ok()
            }
        };
        value.map(|value| value.to_vec())
    }

    /// The chip's counters, over all processors.
    pub fn counters(&mut self) -> Vec<u64> {
        let counters: Array<_, u64> = map(&mut self.ebpf, "registers");
        let of_all = |register| {
            let parts = (register..counters.len()).step_by(REGISTER_STRIDE);
            parts.map(|at| counters.get(&at, 0).unwrap()).sum()
        };
        (0..COUNTERS as u32).map(of_all).collect()
    }

    /// Copies for the CPU, each with the CPU's port.
    pub fn punts(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut ring: RingBuf<_> = map(&mut self.ebpf, "punts");
        std::iter::from_fn(|| {
            let record = ring.next()?.to_vec();
            let punt = Punt::read_from_bytes(&record).unwrap();
            assert!((punt.processor as usize) < nr_cpus().unwrap(), "{punt:?}");
            Some((punt.port, punt.data[..punt.taken.into()].to_vec()))
        })
        .collect()
    }

    /// Packets for users' programs that the kernel did not split: number of packets lost before,
    /// the CPU's port, and the bytes.
    pub fn whole_packets(&mut self) -> Vec<(u64, u8, Vec<u8>)> {
        let mut ring: RingBuf<_> = map(&mut self.ebpf, "packets");
        std::iter::from_fn(|| {
            let record = ring.next()?.to_vec();
            let (head, bytes) = PacketHead::read(&record).unwrap();
            assert_eq!(bytes.len(), head.bytes as usize);
            Some((head.lost, head.port, bytes.to_vec()))
        })
        .collect()
    }

    /// Packets for users' programs that the kernel carries as one, with their heads.
    pub fn parts(&mut self) -> Vec<(PacketHead, Vec<u8>)> {
        let mut ring: RingBuf<_> = map(&mut self.ebpf, "packets");
        std::iter::from_fn(|| {
            let record = ring.next()?.to_vec();
            let (head, bytes) = PacketHead::read(&record).unwrap();
            Some((head, bytes.to_vec()))
        })
        .collect()
    }

    /// Passes several packets in one to the chip, each with `data_bytes` bytes of data.
    pub fn run_chip_on_several(&mut self, frame: &[u8], data_bytes: u32, packets: u32) -> u32 {
        kernel_run::run_several(&mut self.ebpf, CHIP_ALONE, frame, data_bytes, packets)
    }

    /// Number of lost packets for users' programs.
    pub fn lost_packets(&mut self) -> u64 {
        let side: Array<_, [u8; 24]> = map(&mut self.ebpf, "cpu");
        CpuSide::read_from_bytes(&side.get(&0, 0).unwrap()).unwrap().lost
    }

    /// Resets the rate limit of copies for the CPU, as after silence.
    pub fn forget_punts(&mut self) {
        let mut limits: Array<_, u64> = map(&mut self.ebpf, "limits");
        limits.set(0, 0, 0).unwrap();
    }

    /// Runs the chip alone on a frame: returns TC's verdict, and the frame afterwards.
    pub fn run_chip(&mut self, frame: &[u8]) -> (u32, Vec<u8>) {
        kernel_run::run_raw(&mut self.ebpf, CHIP_ALONE, frame)
    }

    /// Writes an entry of a table.
    pub fn write(&mut self, update: &TableUpdate) {
        self.tables.write(&mut self.ebpf, update);
    }

    /// Runs the program at an entrance on one frame.
    pub fn run(&mut self, enters: Entrance, frame: &[u8]) -> Outcome {
        let name = match enters {
            Entrance::Vnic => self.tables.object.virtual_nic.unwrap(),
            Entrance::Port => self.tables.object.port,
        };
        let (verdict, frame) = kernel_run::run(&mut self.ebpf, name, frame, self.server.config().vnic_mac);
        Outcome {
            verdict,
            frame,
            notices: self.notices(),
        }
    }

    fn notices(&mut self) -> Vec<Notice> {
        let mut ring: RingBuf<_> = map(&mut self.ebpf, "events");
        std::iter::from_fn(|| {
            let notice = Notice::read_from_bytes(&ring.next()?).unwrap();
            assert_ne!(notice.at_nanos, 0);
            Some(Notice {
                at_nanos: 0,
                ..notice
            })
        })
        .collect()
    }

    /// Resets flows and events, as if the server were new.
    pub fn forget(&mut self) {
        let mut counts: HashMap<_, [u8; 16], [u8; 24]> = map(&mut self.ebpf, "flow_counts");
        let seen: Vec<[u8; 16]> = counts.keys().map(Result::unwrap).collect();
        for flow in seen {
            counts.remove(&flow).unwrap();
        }
        let mut limits: Array<_, u64> = map(&mut self.ebpf, "limits");
        for kind in [NEW_FLOW, NEXT_HOP_DEAD] {
            limits.set(kind, 0, 0).unwrap();
        }
    }
}

//! The ring of packets from a server's chip in the kernel to users' programs, read from shared
//! memory. The fabric owns the map and hands over its descriptor.
//! `[linux Documentation/bpf/ringbuf.rst]`
#![allow(unsafe_code, reason = "the ring's memory is mapped by its descriptor")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cubeyard_dataplane::chip_tables::layout::{PACKET_RING_BYTES, PacketHead};
use cubeyard_dataplane::wire_form::Part;
use nix::errno::Errno;
use nix::libc;

/// Header of each record: its length and state (4 bytes), and 4 bytes for the kernel.
const RECORD_HEAD_BYTES: usize = 8;
/// Flag of a record that is still being written.
const BUSY: u32 = 1 << 31;
/// Flag of a record that the reader must skip.
const DISCARDED: u32 = 1 << 30;

/// The reading end of the ring.
#[derive(Debug)]
pub struct PacketRing {
    fd: OwnedFd,
    /// Position of the reader: a page that both ends map, and only this end writes.
    read: Mapping,
    /// Position of the writer: a page. After it come the records, which are mapped twice, so that
    /// each is contiguous.
    written: Mapping,
}

/// A memory mapping.
#[derive(Debug)]
struct Mapping {
    begin: NonNull<u8>,
    bytes: usize,
}

/// A record of the ring.
#[derive(Debug, PartialEq, Eq)]
pub enum Record {
    /// A packet for programs: number of packets lost before it, the CPU port at which it arrives,
    /// its bytes, and its part if the kernel carried several packets as one.
    Packet(u64, u8, Vec<u8>, Option<Part>),
    /// A packet of the CPU was discarded; the index of the reason.
    Discarded(u8),
}

impl Mapping {
    fn of(fd: &OwnedFd, bytes: usize, protection: libc::c_int, offset: usize) -> nix::Result<Mapping> {
        let shared = libc::MAP_SHARED;
        // SAFETY: the kernel chooses the address; nothing else refers to that memory.
        let begin = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                shared,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if begin == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let begin = NonNull::new(begin.cast()).ok_or(Errno::EFAULT)?;
        Ok(Mapping { begin, bytes })
    }

    /// The counter at the start of the mapping.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: a mapping begins at a page, is at least a page long, and exists as long as this
        // value; both ends use the counter atomically.
        unsafe { self.begin.cast().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` mapped the memory, and nothing that borrows it outlives `self`.
        let _ = unsafe { libc::munmap(self.begin.as_ptr().cast(), self.bytes) };
    }
}

fn page_bytes() -> usize {
    // SAFETY: the call takes only a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

impl PacketRing {
    /// Maps a ring of [`PACKET_RING_BYTES`]. Errors: the descriptor is no such ring.
    pub fn open(fd: OwnedFd) -> nix::Result<PacketRing> {
        let page = page_bytes();
        Ok(PacketRing {
            read: Mapping::of(&fd, page, libc::PROT_READ | libc::PROT_WRITE, 0)?,
            written: Mapping::of(&fd, page + 2 * PACKET_RING_BYTES, libc::PROT_READ, page)?,
            fd,
        })
    }

    /// The next record, if one is complete.
    pub fn next_record(&self) -> Option<Record> {
        loop {
            let position = self.read.position().load(Ordering::Relaxed);
            if position >= self.written.position().load(Ordering::Acquire) {
                return None;
            }
            let at = position as usize & (PACKET_RING_BYTES - 1);
            let state = self.state(at)?;
            if state & BUSY != 0 {
                return None;
            }
            let length = (state & !(BUSY | DISCARDED)) as usize;
            let record = match state & DISCARDED {
                0 => self.record(at + RECORD_HEAD_BYTES, length).and_then(read_record),
                _ => None,
            };
            let after = (RECORD_HEAD_BYTES + length).next_multiple_of(RECORD_HEAD_BYTES);
            self.read
                .position()
                .store(position + after as u64, Ordering::Release);
            if record.is_some() {
                return record;
            }
        }
    }

    /// Length and state of the record at a position.
    fn state(&self, at: usize) -> Option<u32> {
        let place = page_bytes() + at;
        (at.is_multiple_of(RECORD_HEAD_BYTES) && place + RECORD_HEAD_BYTES <= self.written.bytes).then(|| {
            // SAFETY: the position is in the mapping and aligned; the kernel writes the word
            // atomically.
            let state: &AtomicU32 = unsafe { self.written.begin.add(place).cast().as_ref() };
            state.load(Ordering::Acquire)
        })
    }

    /// Bytes of a finished record. The kernel does not change them until `read` has passed the
    /// record.
    fn record(&self, at: usize, length: usize) -> Option<&[u8]> {
        let place = page_bytes() + at;
        (length <= PACKET_RING_BYTES && place + length <= self.written.bytes).then(|| {
            // SAFETY: the position is in the mapping, which exists as long as this value.
            unsafe { std::slice::from_raw_parts(self.written.begin.add(place).as_ptr(), length) }
        })
    }
}

fn read_record(bytes: &[u8]) -> Option<Record> {
    let (head, rest) = PacketHead::read(bytes)?;
    if head.bytes == 0 {
        return Some(Record::Discarded(head.reason));
    }
    let packet = rest.get(..head.bytes as usize)?;
    Some(Record::Packet(
        head.lost,
        head.port,
        packet.to_vec(),
        head.of_several(),
    ))
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

//! Packet captures of a link's end, as pcapng files that are limited in bytes and seconds: whole,
//! or in parts while packets flow.
//!
//! `socket` receives packets from an interface, `pcapng` encodes them. The run selects the
//! interface (`run/verbs/capture.rs`); the caller waits for the whole file (`api/`), so that a run
//! never waits for a capture.
//!
//! Not here: counters of links (`run/telemetry.rs`), and reading a file: any tool for pcapng does.

pub mod pcapng;
pub mod socket;

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{FabricError, Result};
use pcapng::File;
use socket::{CaptureSocket, Received};

/// Largest file that is returned whole, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Longest capture that is returned whole, in seconds.
pub const MAX_SECS: f64 = 60.0;
/// Largest file that is sent in parts, in bytes.
pub const MAX_STREAM_BYTES: usize = 1 << 30;
/// Longest capture that is sent in parts, in seconds.
pub const MAX_STREAM_SECS: f64 = 3600.0;
/// A part is sent once it has this many bytes,
const PART_BYTES: usize = 64 << 10;
/// or once its first packet is this old.
const PART_TIME: Duration = Duration::from_millis(100);
/// Most bytes that are kept of a packet: enough for a whole super-packet.
pub const MAX_PACKET_BYTES: u32 = 65_535;

/// When a capture ends, and how much of each packet it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum size of the file.
    pub max_bytes: usize,
    /// Maximum duration in seconds.
    pub max_secs: f64,
    /// Bytes to keep of each packet.
    pub packet_bytes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_bytes: 4 << 20,
            max_secs: 10.0,
            packet_bytes: MAX_PACKET_BYTES,
        }
    }
}

impl Limits {
    /// Checks each limit, for a file that is returned whole or in parts. Errors name the limit.
    pub fn check(&self, in_parts: bool) -> Result<()> {
        let (most_bytes, most_secs) = if in_parts {
            (MAX_STREAM_BYTES, MAX_STREAM_SECS)
        } else {
            (MAX_BYTES, MAX_SECS)
        };
        let within = |name: &str, given: f64, least: f64, most: f64| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            let limit = format!("{least} to {most}");
            Err(FabricError::bad(
                format!("limits.{name}"),
                given,
                limit,
                "leave it out for the default",
            ))
        };
        within("max_bytes", self.max_bytes as f64, 1024.0, most_bytes as f64)?;
        within("max_secs", self.max_secs, 0.1, most_secs)?;
        within(
            "packet_bytes",
            f64::from(self.packet_bytes),
            14.0,
            f64::from(MAX_PACKET_BYTES),
        )
    }
}

/// Why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The next packet would have exceeded the limit of bytes.
    Bytes,
    /// The time limit was reached.
    Secs,
    /// The interface was removed or set down.
    InterfaceDown,
    /// The caller closed the connection.
    CallerGone,
}

/// A finished capture.
#[derive(Debug)]
pub struct Capture {
    /// The file, or its end if earlier parts were sent already.
    pub file: Vec<u8>,
    /// Number of packets in the file.
    pub packets: u64,
    /// Packets lost because they arrived faster than they were read.
    pub missed: u64,
    /// Why the capture ended.
    pub end: End,
}

/// Takes a part of a file; returns whether it accepts more. While it waits, the kernel queues
/// packets and counts those it drops.
pub type PassOn<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

/// Captures until a limit is reached, the interface is down, or `caller` closes its connection.
/// With `pass_on` the file is sent in parts of whole blocks, starting with its header.
pub fn capture(
    socket: &CaptureSocket,
    limits: &Limits,
    caller: BorrowedFd<'_>,
    mut pass_on: Option<PassOn<'_>>,
) -> Capture {
    let mut file = File::new(&socket.interface, limits.packet_bytes, limits.max_bytes);
    let mut buffer = vec![0; limits.packet_bytes as usize];
    let mut packets = 0;
    let mut due = Instant::now();
    let deadline = due + Duration::from_secs_f64(limits.max_secs);
    let end = loop {
        let now = Instant::now();
        let left = deadline.saturating_duration_since(now);
        if left.is_zero() {
            break End::Secs;
        }
        let mut patience = left;
        if let Some(pass_on) = pass_on.as_mut().filter(|_| file.waiting() > 0) {
            if (now >= due || file.waiting() >= PART_BYTES) && !pass_on(&file.take()) {
                break End::CallerGone;
            }
            if file.waiting() > 0 {
                patience = patience.min(due.saturating_duration_since(now));
            }
        }
        match socket.receive(&mut buffer, patience, caller) {
            Received::Packet(packet) => {
                if file.waiting() == 0 {
                    due = Instant::now() + PART_TIME;
                }
                if !file.add(&packet, &buffer[..packet.kept_bytes]) {
                    break End::Bytes;
                }
                packets += 1;
            }
            Received::Nothing => {}
            Received::InterfaceDown => break End::InterfaceDown,
            Received::CallerGone => break End::CallerGone,
        }
    };
    let missed = socket.missed();
    Capture {
        file: file.finish(missed),
        packets,
        missed,
        end,
    }
}

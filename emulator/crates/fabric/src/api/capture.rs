//! `capture`: packets of a link or port as a pcapng file, in hexadecimal digits. The caller waits
//! for the whole file, or requests it in parts, which are lines `{"part": digits}` before the
//! answer; it ends the capture early by closing its connection.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Caller, Fabric};
use crate::capture::{End, Limits, PassOn, capture};
use crate::error::{FabricError, Result};
use crate::names::RunId;
use crate::run::{CaptureTarget, Request};

/// Captures at a time, each with a file or a part of one in memory.
const MAX_CAPTURES: usize = 16;
/// A caller that reads no part of a capture for this long counts as disconnected.
const TAKES_NOTHING: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureJson {
    run: RunId,
    target: CaptureTarget,
    #[serde(default)]
    limits: Limits,
    /// Whether the file comes in parts while it grows.
    #[serde(default)]
    parts: bool,
}

/// The captured packets.
#[derive(Debug, Serialize)]
pub struct Captured {
    /// The file, or the rest of it, as two hexadecimal digits per byte.
    pcapng: String,
    /// Name of the captured interface.
    interface: String,
    /// Number of packets in the file.
    packets: u64,
    /// Packets lost because they arrived faster than they were read.
    missed: u64,
    /// Why the capture ended.
    end: End,
}

/// How many captures run.
#[derive(Debug, Default)]
pub struct Captures(AtomicUsize);

/// A running capture, counted until it is dropped.
struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Captures packets of a run.
pub fn answer(fabric: &Fabric, params: Value, caller: &Caller) -> Result<Captured> {
    let json: CaptureJson = serde_path_to_error::deserialize(params)
        .map_err(|error| FabricError::malformed(format!("{}: {}", error.path(), error.inner())))?;
    json.limits.check(json.parts)?;
    let before = fabric.captures.0.fetch_add(1, Ordering::SeqCst);
    let _running = Running(&fabric.captures.0);
    if before >= MAX_CAPTURES {
        let message = format!("{MAX_CAPTURES} captures are running");
        return Err(FabricError::state(message, "wait until one of them has ended"));
    }
    let (sender, sockets) = channel();
    fabric
        .run_of(&json.run, caller)?
        .ask(Request::Capture(json.target, sender))?;
    let gone = |_| FabricError::state("the run has ended", "prepare it again");
    let socket = sockets.recv().map_err(gone)?;
    let mut pass_on = |part: &[u8]| caller.say(&json!({"part": digits(part)})).is_ok();
    let parts: Option<PassOn<'_>> = if json.parts { Some(&mut pass_on) } else { None };
    caller.patience(json.parts.then_some(TAKES_NOTHING))?;
    let captured = capture(&socket, &json.limits, caller.connection.as_fd(), parts);
    caller.patience(None)?;
    Ok(Captured {
        pcapng: digits(&captured.file),
        interface: socket.interface,
        packets: captured.packets,
        missed: captured.missed,
        end: captured.end,
    })
}

/// Writes bytes as two hexadecimal digits each.
fn digits(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .collect()
}

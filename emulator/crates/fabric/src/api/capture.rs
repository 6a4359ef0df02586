//! `capture`: packets of a link or port as a pcapng file, in hexadecimal digits. The caller waits for the whole file; it
//! ends the capture early by closing its connection.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caller, Fabric};
use crate::capture::{End, Limits, capture};
use crate::error::{FabricError, Result};
use crate::names::RunId;
use crate::run::{CaptureTarget, Request};

/// Captures at a time, each with a file in memory.
const MAX_CAPTURES: usize = 4;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureJson {
    run: RunId,
    target: CaptureTarget,
    #[serde(default)]
    limits: Limits,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Captured {
    /// The file, two hexadecimal digits a byte.
    pcapng: String,
    /// Name of the interface.
    interface: String,
    /// Packets in the file.
    packets: u64,
    /// Packets that are missing since they arrived faster than they were read.
    missed: u64,
    /// Why the capture ended.
    end: End,
}

/// How many captures run.
#[derive(Debug, Default)]
pub struct Captures(AtomicUsize);

/// One of them; dropping it makes room for another.
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
    json.limits.check()?;
    let before = fabric.captures.0.fetch_add(1, Ordering::SeqCst);
    let _running = Running(&fabric.captures.0);
    if before >= MAX_CAPTURES {
        let message = format!("{MAX_CAPTURES} captures are running");
        return Err(FabricError::state(message, "wait until one of them has ended"));
    }
    let (sender, sockets) = channel();
    fabric
        .run(&json.run)?
        .ask(Request::Capture(json.target, sender))?;
    let gone = |_| FabricError::state("the run has ended", "prepare it again");
    let socket = sockets.recv().map_err(gone)?;
    let captured = capture(&socket, &json.limits, caller.connection.as_fd());
    Ok(Captured {
        pcapng: captured.file.iter().map(|byte| format!("{byte:02x}")).collect(),
        interface: socket.interface,
        packets: captured.packets,
        missed: captured.missed,
        end: captured.end,
    })
}

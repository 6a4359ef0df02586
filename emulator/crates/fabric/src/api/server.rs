//! The socket: who may connect, requests in, answers and frames out.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{SigSet, Signal};
use rustix::net::sockopt::socket_peercred;
use serde_json::{Value, json};

use super::socket_file::SocketFile;
use super::{Caller, Fabric, Rights};
use crate::error::{FabricError, Result};

/// Longest request of a caller, in bytes.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;
/// Most connected callers of one socket. Each socket has its own limit, so that callers of one
/// cannot block the other.
const MAX_CALLERS: usize = 64;
/// Frames queued for a caller that does not read: half a minute of them. Further frames are
/// dropped, which leaves a gap in the numbers of ticks.
const MAX_FRAMES_WAITING: usize = 300;

/// Number of connected callers.
#[derive(Debug, Default)]
pub(super) struct Callers {
    workers: AtomicUsize,
    watchers: AtomicUsize,
    so_far: AtomicUsize,
}

impl Callers {
    fn of(&self, rights: Rights) -> &AtomicUsize {
        match rights {
            Rights::All => &self.workers,
            Rights::Watch => &self.watchers,
        }
    }

    pub(super) fn now(&self) -> usize {
        self.workers.load(Ordering::SeqCst) + self.watchers.load(Ordering::SeqCst)
    }

    /// Number of callers that have connected since the start.
    pub(super) fn so_far(&self) -> usize {
        self.so_far.load(Ordering::SeqCst)
    }
}

/// Listens at `path` for root and for the user that is served, until the process ends.
pub fn serve(fabric: &Arc<Fabric>, path: &Path, rights: Rights) -> Result<()> {
    let listener = listen(path, fabric.uid())?;
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let number = fabric.callers.so_far.fetch_add(1, Ordering::SeqCst);
        let busy = fabric.callers.of(rights).fetch_add(1, Ordering::SeqCst) >= MAX_CALLERS;
        let spawned = std::thread::Builder::new().name("caller".to_owned()).spawn({
            let fabric = fabric.clone();
            move || {
                attend(&fabric, stream, number, rights, busy);
                fabric.callers.of(rights).fetch_sub(1, Ordering::SeqCst);
            }
        });
        if spawned.is_err() {
            fabric.callers.of(rights).fetch_sub(1, Ordering::SeqCst);
        }
    }
    Ok(())
}

fn listen(path: &Path, uid: Option<u32>) -> Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        let message = format!("another cubeyard-fabric serves {}", path.display());
        return Err(FabricError::state(
            message,
            "use that one, end it, or give another --socket",
        ));
    }
    SocketFile::at(path, uid)?.listen()
}

/// The signals that end a fabric, and every run with it.
pub const END_SIGNALS: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

/// Waits for one of [`END_SIGNALS`], then destroys every run. The signals must be blocked in all
/// threads.
pub fn stop_on_signal<'a>(fabric: &Fabric, sockets: impl IntoIterator<Item = &'a Path>) {
    let signals = SigSet::from_iter(END_SIGNALS);
    while signals.wait().is_err() {}
    fabric.destroy_all();
    // The next start would replace a file that stays, so a failure is ignored.
    for socket in sockets {
        let _ = SocketFile::at(socket, fabric.uid()).and_then(|file| file.remove());
    }
}

fn attend(fabric: &Arc<Fabric>, stream: UnixStream, number: usize, rights: Rights, busy: bool) {
    let Ok(output) = stream.try_clone() else { return };
    let output = Arc::new(Mutex::new(output));
    let peer = socket_peercred(&stream);
    let refusal = match &peer {
        _ if busy => Some(FabricError::state(
            "too many callers at a time",
            "close other connections",
        )),
        Ok(peer) if peer.uid.is_root() || Some(peer.uid.as_raw()) == fabric.uid() => None,
        _ => Some(FabricError::denied(
            "this user may not use the fabric: start it with --uid",
        )),
    };
    let user = peer.map_or(u32::MAX, |peer| peer.uid.as_raw());
    if let Some(error) = refusal {
        let _ = write_line(&output, &json!({"id": null, "error": error}).to_string());
        return;
    }
    let (frames, waiting) = sync_channel::<Arc<str>>(MAX_FRAMES_WAITING);
    let forwarder = std::thread::Builder::new().name("frames".to_owned()).spawn({
        let output = output.clone();
        move || forward(&waiting, &output)
    });
    if forwarder.is_err() {
        return;
    }
    let Ok(connection) = stream.try_clone() else {
        return;
    };
    let caller = Caller {
        number,
        user,
        rights,
        frames,
        connection,
        output: output.clone(),
    };
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() as u64 >= MAX_LINE_BYTES => {
                let error = FabricError::malformed(format!("a request has at most {MAX_LINE_BYTES} bytes"));
                let _ = write_line(&output, &json!({"id": null, "error": error}).to_string());
                return;
            }
            Ok(_) => {}
        }
        let answer = answer(&line, |method, params| fabric.call(method, params, &caller));
        if write_line(&output, &answer.to_string()).is_err() {
            return;
        }
    }
}

/// Reads one request, and wraps the result of `call` as its answer.
fn answer(line: &[u8], call: impl FnOnce(&str, Value) -> Result<Value>) -> Value {
    let request: Value = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let error = FabricError::malformed(format!("a request is one JSON object a line: {error}"));
            return json!({"id": null, "error": error});
        }
    };
    let id = &request["id"];
    let params = match request.get("params") {
        None => json!({}),
        Some(params) => params.clone(),
    };
    let result = match (request["method"].as_str(), params.is_object()) {
        (Some(method), true) => call(method, params),
        (None, _) => Err(FabricError::malformed(
            "a request has a method, which is a string",
        )),
        (_, false) => Err(FabricError::malformed("params is an object")),
    };
    match result {
        Ok(result) => json!({"id": id, "result": result}),
        Err(error) => json!({"id": id, "error": error}),
    }
}

fn forward(waiting: &Receiver<Arc<str>>, output: &Mutex<UnixStream>) {
    while let Ok(line) = waiting.recv() {
        if write_line(output, &line).is_err() {
            return;
        }
    }
}

/// Writes a whole line, even while other threads write to the same caller.
pub(super) fn write_line(output: &Mutex<UnixStream>, line: &str) -> std::io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.write_all(line.as_bytes())?;
    output.write_all(b"\n")
}

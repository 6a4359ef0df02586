//! Proof that a process belongs to a run. The caller's word is no proof: it can name any process.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use super::folder::Folder;
use crate::error::Result;
use crate::names::RunId;

/// Environment variable of every process that an engine or the fabric starts for a run.
pub const MARK: &str = "CUBEYARD_RUN";
/// Mount point of the server's folder in its container.
const MOUNT: [&str; 2] = ["run", "cubeyard"];

/// Whether a process sees this folder of a server where its container has it. Only root, or
/// an engine that runs as root, can mount the folder there.
pub fn sees_folder(pid: u32, folder: &Folder) -> Result<bool> {
    let ours = folder.status()?;
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(mut seen) = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty()) else {
        return Ok(false);
    };
    for name in MOUNT {
        // Not through a link, which would resolve in our own root folder.
        match openat(&seen, name, path | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(inner) => seen = inner,
            Err(_) => return Ok(false),
        }
    }
    Ok(fstat(&seen).is_ok_and(|its| (its.st_dev, its.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// Whether the process with this folder in `/proc` was started with the mark of a run. No user can
/// mark a process of another user.
pub fn is_marked(folder: &Path, run: &RunId) -> bool {
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let mark = format!("{MARK}={run}");
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == mark.as_bytes())
}

//! Whether a process belongs to a run. What a caller says of a process or container is no proof: it could name anybody's.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use super::folder::Folder;
use crate::error::Result;
use crate::names::RunId;

/// Environment variable of each node that is started for a run, and of what is beside it.
pub const MARK: &str = "CUBEYARD_RUN";
/// Where the container of a server sees the server's folder.
const MOUNT: [&str; 2] = ["run", "cubeyard"];

/// Whether a process sees this folder of a server where its container has it. The folder is root's alone: only root, or an engine
/// that is root, can have mounted it there.
pub fn sees_folder(pid: u32, folder: &Folder) -> Result<bool> {
    let ours = folder.status()?;
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(mut seen) = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty()) else {
        return Ok(false);
    };
    for name in MOUNT {
        // No link: it would lead through our own folders.
        match openat(&seen, name, path | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(inner) => seen = inner,
            Err(_) => return Ok(false),
        }
    }
    Ok(fstat(&seen).is_ok_and(|its| (its.st_dev, its.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// Whether the process with this folder in `/proc` was started with the mark of a run. Nobody can give it to another's process.
pub fn is_marked(folder: &Path, run: &RunId) -> bool {
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let mark = format!("{MARK}={run}");
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == mark.as_bytes())
}

//! The kernel objects of each run, written to disk before they are created, so that the next start
//! can remove them after a crash.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::fs::{FileType, FlockOperation, Stat, flock};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::error::{During, FabricError, Result};
use crate::host::folder::{Folder, check_file, refused};
use crate::host::namespace::NamespaceId;
use crate::names::RunId;

/// Longest path of a Unix socket.
const SOCKET_PATH_BYTES: usize = 107;
/// In a state folder: the marker file, the lock, and the folders of journals and sockets.
const MARKER: &str = "cubeyard-fabric";
const LOCK: &str = "lock";
const JOURNAL: &str = "journal";
const RUNS: &str = "runs";

/// The resources of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The run.
    pub run: RunId,
    /// Names of our namespaces, whether they exist yet or not.
    pub namespaces: Vec<String>,
    /// Namespaces of containers, which we did not make, but in which we made interfaces.
    pub containers: Vec<Container>,
}

/// A container that the fabric has wired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// A process in it.
    pub pid: u32,
    /// Network namespace of that process when it was recorded. The process id may have been reused
    /// since.
    pub namespace: NamespaceId,
}

/// The folder of journals and of the runs' sockets, held by one fabric at a time.
#[derive(Debug)]
pub struct State {
    journal: Folder,
    runs: Folder,
    _lock: File,
}

impl State {
    /// Opens, completes and locks the folder. Its owner must be this process's user, or the user
    /// `caller` that the fabric serves; then this process becomes the owner. Refuses a folder that
    /// other users can reach or that has foreign content, and leaves it unchanged.
    pub fn open(root: &Path, caller: Option<u32>) -> Result<State> {
        let longest = root
            .join("runs")
            .join("0".repeat(36))
            .join("65533")
            .join("fabric.sock");
        if longest.as_os_str().len() > SOCKET_PATH_BYTES {
            let limit = format!("at most {} bytes long", SOCKET_PATH_BYTES - 60);
            return Err(FabricError::bad(
                "--state",
                root.display(),
                limit,
                "use for example /run/cubeyard",
            ));
        }
        let (around, name) = Folder::around(root)?;
        let folder = around.make(&name, 0o700)?;
        folder.check_private(caller)?;
        check_content(&folder)?;
        if folder.status()?.st_uid != geteuid().as_raw() {
            folder.take()?;
            // Checked again, since the previous owner could add files until now.
            check_content(&folder)?;
        }
        folder.open_file(MARKER)?;
        let lock = folder.open_file(LOCK)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let message = format!("another cubeyard-fabric uses {}", root.display());
            return Err(FabricError::state(message, "end it, or give another --state"));
        }
        let (journal, runs) = (folder.make(JOURNAL, 0o700)?, folder.make(RUNS, 0o700)?);
        for (inner, is_ours) in [(&journal, is_entry as IsOurs), (&runs, is_run_folder)] {
            inner.check_private(None)?;
            for (name, status) in inner.entries()? {
                if !is_ours(&name.to_string_lossy(), &status) {
                    return Err(foreign(inner, &name));
                }
            }
        }
        Ok(State {
            journal,
            runs,
            _lock: lock,
        })
    }

    /// Makes the folder of a run's sockets.
    pub fn make_run_folder(&self, run: &RunId) -> Result<Folder> {
        self.runs.make(run.as_str(), 0o700)
    }

    /// Writes an entry; returns once it is completely on disk.
    pub fn write(&self, entry: &Entry) -> Result<()> {
        let (name, draft) = (entry_name(&entry.run), format!("{}.draft", entry.run));
        let write = || -> io::Result<()> {
            self.journal.remove_file(&draft)?;
            let mut file = self.journal.create_file(&draft)?;
            file.write_all(&serde_json::to_vec(entry)?)?;
            file.sync_all()?;
            self.journal.rename(&draft, &name)?;
            self.journal.sync()
        };
        // The disk may be full: remove the incomplete draft to free its space.
        let written = write().inspect_err(|_| {
            let _ = self.journal.remove_file(&draft);
        });
        written.during(|| format!("writing the journal of run {}", entry.run))
    }

    /// All entries, by run. An entry that cannot be read was never finished, so no object exists
    /// for it.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let files = self.journal.entries()?;
        let mut entries: Vec<Entry> = files
            .iter()
            .filter_map(|(name, _)| self.read(name.to_str()?))
            .collect();
        entries.sort_by(|a, b| a.run.cmp(&b.run));
        Ok(entries)
    }

    fn read(&self, name: &str) -> Option<Entry> {
        let run: RunId = name.strip_suffix(".json")?.parse().ok()?;
        let mut text = Vec::new();
        self.journal.read_file(name).ok()?.read_to_end(&mut text).ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        let is_whole = entry.run == run && entry.namespaces.iter().all(|name| run.has_namespace(name));
        is_whole.then_some(entry)
    }

    /// Removes the sockets of a run, then its entry. The run must have no kernel objects any more.
    pub fn forget(&self, run: &RunId) -> Result<()> {
        self.runs
            .remove_all(run.as_str())
            .during(|| format!("removing the sockets of run {run}"))?;
        self.journal
            .remove_file(entry_name(run))
            .during(|| format!("removing the journal of run {run}"))
    }

    /// Removes sockets and drafts of runs without an entry.
    pub fn sweep(&self) -> Result<()> {
        let known: Vec<String> = self
            .entries()?
            .iter()
            .map(|entry| entry.run.to_string())
            .collect();
        for (name, _) in self.runs.entries()? {
            if !known.iter().any(|run| name == run.as_str()) {
                self.runs
                    .remove_all(&name)
                    .during(|| format!("removing {}", name.display()))?;
            }
        }
        for (name, _) in self.journal.entries()? {
            if name.to_string_lossy().ends_with(".draft") {
                self.journal
                    .remove_file(&name)
                    .during(|| "removing a draft".to_owned())?;
            }
        }
        Ok(())
    }
}

fn entry_name(run: &RunId) -> String {
    format!("{run}.json")
}

/// Whether an entry of a state folder, given by its name and status, belongs to a fabric.
type IsOurs = fn(&str, &Stat) -> bool;

/// Refuses foreign content. Folders of older fabrics have no marker file.
fn check_content(folder: &Folder) -> Result<()> {
    for (name, status) in folder.entries()? {
        let is_ours = match name.to_str() {
            Some(MARKER | LOCK) => is_file(&status),
            Some(JOURNAL | RUNS) => is_folder(&status),
            _ => false,
        };
        if !is_ours {
            return Err(foreign(folder, &name));
        }
    }
    Ok(())
}

fn foreign(folder: &Folder, name: &OsStr) -> FabricError {
    refused(
        &folder.path().join(name),
        "foreign in a folder of --state",
        "give another --state, or remove it if nobody needs it",
    )
}

fn is_entry(name: &str, status: &Stat) -> bool {
    let run = name.strip_suffix(".json").or_else(|| name.strip_suffix(".draft"));
    run.is_some_and(|run| run.parse::<RunId>().is_ok()) && is_file(status)
}

fn is_run_folder(name: &str, status: &Stat) -> bool {
    name.parse::<RunId>().is_ok() && is_folder(status)
}

fn is_file(status: &Stat) -> bool {
    check_file(Path::new(""), status).is_ok()
}

fn is_folder(status: &Stat) -> bool {
    FileType::from_raw_mode(status.st_mode) == FileType::Directory && status.st_uid == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_entry_that_cannot_be_written_leaves_no_draft() {
        let root = std::env::temp_dir().join(format!("cubeyard-journal-{}", std::process::id()));
        let state = State::open(&root, None).expect("a folder of our own");
        let entry = Entry {
            run: "0123456789abcd".parse().expect("a run's id"),
            namespaces: Vec::new(),
            containers: Vec::new(),
        };
        // A folder blocks the entry's final name, so that the last step fails, as any step may on a
        // full disk.
        fs::create_dir(root.join("journal").join(entry_name(&entry.run))).expect("a folder");
        assert!(state.write(&entry).is_err());
        let names: Vec<_> = fs::read_dir(root.join("journal"))
            .expect("the journal")
            .flatten()
            .map(|file| file.file_name())
            .collect();
        assert_eq!(names, ["0123456789abcd.json"]);
        fs::remove_dir_all(&root).expect("ours");
    }
}

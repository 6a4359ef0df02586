//! What each run has made in the kernel, on disk before it is made, so that the next start can remove it after a crash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{During, FabricError, Result};
use crate::host::namespace::NamespaceId;
use crate::names::RunId;

/// Longest path of a Unix socket.
const SOCKET_PATH_BYTES: usize = 107;

/// The things of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The run.
    pub run: RunId,
    /// Names of our namespaces, whether they exist yet or not.
    pub namespaces: Vec<String>,
    /// Namespaces of containers, which are not ours, but have interfaces of ours.
    pub containers: Vec<Container>,
}

/// A container we wired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// A process in it.
    pub pid: u32,
    /// The namespace of that process; the process number may belong to another process by now.
    pub namespace: NamespaceId,
}

/// The folder of journals and of the runs' sockets, held by one fabric at a time.
#[derive(Debug)]
pub struct State {
    root: PathBuf,
    _lock: File,
}

impl State {
    /// Opens the folder, makes what is missing, and locks it.
    pub fn open(root: &Path) -> Result<State> {
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
        for folder in [root, &root.join("journal"), &root.join("runs")] {
            make_folder(folder, 0o700)?;
        }
        let path = root.join("lock");
        let lock = File::create(&path).during(|| format!("opening {}", path.display()))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let message = format!("another cubeyard-fabric uses {}", root.display());
            return Err(FabricError::state(message, "end it, or give another --state"));
        }
        Ok(State {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    /// The folder of a run's sockets.
    pub fn run_folder(&self, run: &RunId) -> PathBuf {
        self.root.join("runs").join(run.as_str())
    }

    /// Writes an entry. When this returns, it is completely on disk.
    pub fn write(&self, entry: &Entry) -> Result<()> {
        let path = self.journal_path(&entry.run);
        let draft = path.with_extension("draft");
        let write = || -> io::Result<()> {
            let mut file = File::create(&draft)?;
            file.write_all(&serde_json::to_vec(entry)?)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(self.root.join("journal"))?.sync_all()
        };
        // A draft that is incomplete because the disk is full must not take the room that is left.
        let written = write().inspect_err(|_| {
            let _ = fs::remove_file(&draft);
        });
        written.during(|| format!("writing the journal of run {}", entry.run))
    }

    /// All entries, by run. An entry that cannot be read was never finished, so nothing was made for it.
    pub fn entries(&self) -> Vec<Entry> {
        let files = fs::read_dir(self.root.join("journal"));
        let mut entries: Vec<Entry> = files
            .into_iter()
            .flatten()
            .flatten()
            .filter(|file| {
                file.path()
                    .extension()
                    .is_some_and(|extension| extension == "json")
            })
            .filter_map(|file| serde_json::from_slice(&fs::read(file.path()).ok()?).ok())
            .collect();
        entries.sort_by(|a, b| a.run.cmp(&b.run));
        entries
    }

    /// Removes a run that has nothing in the kernel any more: its sockets, then its entry.
    pub fn forget(&self, run: &RunId) -> Result<()> {
        remove_if_there(|| fs::remove_dir_all(self.run_folder(run)))
            .during(|| format!("removing the sockets of run {run}"))?;
        remove_if_there(|| fs::remove_file(self.journal_path(run)))
            .during(|| format!("removing the journal of run {run}"))
    }

    /// Removes sockets and drafts of runs without an entry.
    pub fn sweep(&self) -> Result<()> {
        let known: Vec<String> = self.entries().iter().map(|entry| entry.run.to_string()).collect();
        for folder in fs::read_dir(self.root.join("runs"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = folder.file_name().to_string_lossy().into_owned();
            if name.parse::<RunId>().is_ok() && !known.contains(&name) {
                remove_if_there(|| fs::remove_dir_all(folder.path()))
                    .during(|| format!("removing {name}"))?;
            }
        }
        for file in fs::read_dir(self.root.join("journal"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if file
                .path()
                .extension()
                .is_some_and(|extension| extension == "draft")
            {
                remove_if_there(|| fs::remove_file(file.path())).during(|| "removing a draft".to_owned())?;
            }
        }
        Ok(())
    }

    fn journal_path(&self, run: &RunId) -> PathBuf {
        self.root.join("journal").join(format!("{run}.json"))
    }
}

/// Makes a folder with these permissions, whatever the umask.
pub fn make_folder(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .during(|| format!("making the folder {}", path.display()))
}

/// Makes a user the owner of a folder and its entries; other users get no access.
pub fn give_folder(path: &Path, owner: u32) -> Result<()> {
    let give = || -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            std::os::unix::fs::chown(entry?.path(), Some(owner), Some(owner))?;
        }
        std::os::unix::fs::chown(path, Some(owner), Some(owner))
    };
    give().during(|| format!("giving away the folder {}", path.display()))?;
    make_folder(path, 0o700)
}

fn remove_if_there(remove: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match remove() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_cannot_be_written_leaves_no_draft() {
        let root = std::env::temp_dir().join(format!("cubeyard-journal-{}", std::process::id()));
        let state = State::open(&root).expect("a folder of our own");
        let entry = Entry {
            run: "0123456789abcd".parse().expect("a run's id"),
            namespaces: Vec::new(),
            containers: Vec::new(),
        };
        // A folder in the place of the entry: the last step fails, as any may on a full disk.
        fs::create_dir(state.journal_path(&entry.run)).expect("a folder");
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

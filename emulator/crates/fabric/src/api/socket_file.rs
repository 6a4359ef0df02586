//! The file of the socket for callers.
//!
//! Its folder may belong to the caller, who can replace the file at any moment. Therefore the
//! socket gets its owner in a folder of root, and is renamed to its path afterwards.

use std::ffi::{OsStr, OsString};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, chmodat, chownat, renameat, statat};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use crate::error::{During, Result};
use crate::host::folder::{Folder, refused};

const NAME: &str = "socket";

/// The path of a socket, with its opened folder.
pub struct SocketFile {
    folder: Folder,
    name: OsString,
    uid: Option<u32>,
}

impl SocketFile {
    /// Checks the path for a socket of root and the user `uid`. Refuses a folder or socket of
    /// another user, and any other kind of file.
    pub fn at(path: &Path, uid: Option<u32>) -> Result<SocketFile> {
        let (folder, name) = Folder::around(path)?;
        folder.check_steady(uid)?;
        let file = SocketFile { folder, name, uid };
        file.check()?;
        Ok(file)
    }

    /// Listens at the path. Replaces the socket of a dead fabric.
    pub fn listen(&self) -> Result<UnixListener> {
        // Named after the socket, since this process makes several sockets in a folder at the same
        // time.
        let name = format!(".cubeyard-fabric-{}-{}", std::process::id(), self.name.display());
        let workshop = self.folder.make(&name, 0o700)?;
        workshop.check_private(None)?;
        let listener = self.listen_by(&workshop);
        let removed = self.folder.remove_all(&name);
        let listener = listener?;
        removed.during(|| format!("removing {}", workshop.path().display()))?;
        Ok(listener)
    }

    fn listen_by(&self, workshop: &Folder) -> Result<UnixListener> {
        let failed = || format!("listening at {}", self.path().display());
        workshop.remove_file(NAME).during(failed)?;
        let listener = UnixListener::bind(workshop.by_descriptor(NAME)).during(failed)?;
        chmodat(workshop, NAME, Mode::from_raw_mode(0o600), AtFlags::empty()).during(failed)?;
        if let Some(uid) = self.uid {
            let owner = Some(Uid::from_raw(uid));
            chownat(workshop, NAME, owner, None, AtFlags::SYMLINK_NOFOLLOW).during(failed)?;
        }
        self.check()?;
        renameat(workshop, NAME, &self.folder, &self.name).during(failed)?;
        Ok(listener)
    }

    /// Removes the socket at the end of this process.
    pub fn remove(&self) -> Result<()> {
        self.check()?;
        let removed = self.folder.remove_file(&self.name);
        removed.during(|| format!("removing {}", self.path().display()))
    }

    fn check(&self) -> Result<()> {
        let status = match statat(&self.folder, &self.name as &OsStr, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            status => status.during(|| format!("looking at {}", self.path().display()))?,
        };
        let is_socket = FileType::from_raw_mode(status.st_mode) == FileType::Socket;
        if is_socket && (status.st_uid == geteuid().as_raw() || Some(status.st_uid) == self.uid) {
            return Ok(());
        }
        let what = if is_socket {
            format!("a socket of user {}", status.st_uid)
        } else {
            "no socket".to_owned()
        };
        Err(refused(
            &self.path(),
            &what,
            "remove it, or give another --socket",
        ))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

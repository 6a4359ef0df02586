//! Folders by descriptor. Root works in folders that other users can reach. Nothing here is opened,
//! changed or removed through a link, and an open folder stays the same when its path changes.
//! `[man 2 openat]`

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fchmod, fchown, fstat, mkdirat, openat, readlinkat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{During, FabricError, Result};

/// Most links of root in one path; the same limit as the kernel's.
const MAX_LINKS: usize = 40;
/// Greatest depth of a tree that is removed. Our trees have three levels.
const MAX_DEPTH: usize = 16;
const ACCESS: u32 = 0o777;
const WRITABLE_FOR_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// An open folder with its path.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at a path. Follows links only in folders where no user but root can make
    /// one. Makes missing folders where only root can write.
    pub fn at(path: &Path) -> Result<Folder> {
        let absolute = std::path::absolute(path).during(|| format!("opening {}", path.display()))?;
        let mut here = Folder::root()?;
        let mut waiting = steps(&absolute);
        let mut links = 0;
        while let Some(name) = waiting.pop() {
            match here.open(&name) {
                Ok(folder) => here = folder,
                Err(Errno::NOENT) => {
                    let missing = here.path.join(&name);
                    if here.status()?.st_uid != 0 || here.is_writable_for_others()? {
                        let fix = format!(
                            "make it as the user that uses it: mkdir -p -m 0700 {}",
                            missing.display()
                        );
                        let message = format!("the folder {} is missing", missing.display());
                        return Err(FabricError::state(message, fix));
                    }
                    here = here.make(&name, 0o755)?;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    links += 1;
                    let target = here.link_of_root(&name, links)?;
                    if target.is_absolute() {
                        here = Folder::root()?;
                    }
                    waiting.extend(steps(&target));
                }
                Err(error) => {
                    return Err(error).during(|| format!("opening {}", here.path.join(&name).display()));
                }
            }
        }
        Ok(here)
    }

    /// Opens the folder that contains a path; returns it with the last name of the path.
    pub fn around(path: &Path) -> Result<(Folder, OsString)> {
        let absolute = std::path::absolute(path).during(|| format!("opening {}", path.display()))?;
        match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) => Ok((Folder::at(parent)?, name.to_owned())),
            _ => Err(FabricError::malformed(format!(
                "{} names no file",
                path.display()
            ))),
        }
    }

    fn root() -> Result<Folder> {
        let path = PathBuf::from("/");
        let descriptor = openat(CWD, "/", FOLDER, Mode::empty()).during(|| "opening /".to_owned())?;
        Ok(Folder { descriptor, path })
    }

    /// The target of a link that only root can have made. Refuses all other links.
    fn link_of_root(&self, name: &OsStr, links: usize) -> Result<PathBuf> {
        let path = self.path.join(name);
        let status =
            statat(self, name, AtFlags::SYMLINK_NOFOLLOW).during(|| format!("opening {}", path.display()))?;
        let is_link = FileType::from_raw_mode(status.st_mode) == FileType::Symlink;
        let is_roots = status.st_uid == 0 && self.status()?.st_uid == 0 && !self.is_writable_for_others()?;
        if !is_link || !is_roots || links > MAX_LINKS {
            let what = if is_link { "a link" } else { "no folder" };
            return Err(refused(
                &path,
                what,
                "remove it, or give the path of a folder of your own",
            ));
        }
        let target = readlinkat(self, name, Vec::new()).during(|| format!("opening {}", path.display()))?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    fn open(&self, name: &OsStr) -> rustix::io::Result<Folder> {
        let descriptor = openat(self, name, FOLDER, Mode::empty())?;
        let path = self.path.join(name);
        Ok(Folder { descriptor, path })
    }

    /// The path at which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path to an entry of the folder that leads through the descriptor, for calls that take only
    /// paths.
    pub fn by_descriptor(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())).join(name)
    }

    /// Owner and permissions of the folder.
    pub fn status(&self) -> Result<Stat> {
        fstat(self).during(|| format!("looking at {}", self.path.display()))
    }

    /// Whether users other than its owner can replace its files. In `/tmp` they can only add files.
    pub fn is_writable_for_others(&self) -> Result<bool> {
        let mode = self.status()?.st_mode;
        Ok(mode & WRITABLE_FOR_OTHERS != 0 && mode & STICKY == 0)
    }

    /// Refuses a folder that is neither this process's nor `caller`'s, or that others can reach.
    pub fn check_private(&self, caller: Option<u32>) -> Result<()> {
        let status = self.status()?;
        let path = self.path.display();
        if status.st_uid != geteuid().as_raw() && Some(status.st_uid) != caller {
            let what = format!("owned by user {}", status.st_uid);
            return Err(refused(
                &self.path,
                &what,
                "give a path of your own, or remove it",
            ));
        }
        if status.st_mode & ACCESS != 0o700 {
            let what = format!("of mode {:04o}, not 0700", status.st_mode & ACCESS);
            return Err(refused(
                &self.path,
                &what,
                &format!("check that its content is yours, then chmod 0700 {path}"),
            ));
        }
        Ok(())
    }

    /// Refuses a folder in which a user other than ours and `caller` can replace our files.
    pub fn check_steady(&self, caller: Option<u32>) -> Result<()> {
        let status = self.status()?;
        if status.st_uid != geteuid().as_raw() && Some(status.st_uid) != caller {
            let what = format!("owned by user {}", status.st_uid);
            return Err(refused(&self.path, &what, "give a path in a folder of your own"));
        }
        if self.is_writable_for_others()? {
            let what = format!("writable for others, by mode {:04o}", status.st_mode & ACCESS);
            let fix = format!(
                "check that its content is yours, then chmod go-w {}",
                self.path.display()
            );
            return Err(refused(&self.path, &what, &fix));
        }
        Ok(())
    }

    /// Opens a subfolder of this folder.
    pub fn folder(&self, name: &str) -> Result<Folder> {
        self.open(OsStr::new(name))
            .during(|| format!("opening {}", self.path.join(name).display()))
    }

    /// Opens a subfolder. A missing one is made with these permissions, independent of the umask;
    /// an existing one keeps its own.
    pub fn make(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Folder> {
        let name = name.as_ref();
        let failed = || format!("making the folder {}", self.path.join(name).display());
        let is_new = match mkdirat(self, name, Mode::from_raw_mode(0o700)) {
            Err(Errno::EXIST) => false,
            made => made.map(|()| true).during(failed)?,
        };
        let folder = match self.open(name) {
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let path = self.path.join(name);
                return Err(refused(
                    &path,
                    "no folder, or a link",
                    "remove it, or give another path",
                ));
            }
            result => result.during(failed)?,
        };
        if is_new {
            if folder.status()?.st_uid != geteuid().as_raw() {
                return Err(refused(
                    &folder.path,
                    "replaced meanwhile",
                    "give a path of your own",
                ));
            }
            fchmod(&folder, Mode::from_raw_mode(mode)).during(failed)?;
        }
        Ok(folder)
    }

    /// Makes this process the owner of the folder.
    pub fn take(&self) -> Result<()> {
        fchown(self, Some(geteuid()), None)
            .during(|| format!("taking over the folder {}", self.path.display()))
    }

    /// Names and status of all entries.
    pub fn entries(&self) -> Result<Vec<(OsString, Stat)>> {
        let failed = || format!("reading the folder {}", self.path.display());
        let list = openat(self, ".", FOLDER, Mode::empty()).during(failed)?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut reader = RawDir::new(list, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = reader.next() {
            let entry = entry.during(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            match statat(self, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                status => entries.push((name, status.during(failed)?)),
            }
        }
        Ok(entries)
    }

    /// Opens a file of ours for reading and writing; creates it if it is missing. Does not truncate
    /// it.
    pub fn open_file(&self, name: &str) -> Result<File> {
        self.file(name, OFlags::RDWR | OFlags::CREATE)
    }

    /// Creates a file; an existing file of this name is an error.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(self, name, flags, Mode::from_raw_mode(0o600))?.into())
    }

    /// Opens a file of ours for reading.
    pub fn read_file(&self, name: &str) -> Result<File> {
        self.file(name, OFlags::RDONLY)
    }

    fn file(&self, name: &str, flags: OFlags) -> Result<File> {
        let path = self.path.join(name);
        // Without NONBLOCK, opening a pipe of another user would block.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(self, name, flags, Mode::from_raw_mode(0o600)) {
            Err(Errno::LOOP) => return Err(refused(&path, "a link", "remove it")),
            result => result.during(|| format!("opening {}", path.display()))?,
        };
        let status = fstat(&file).during(|| format!("opening {}", path.display()))?;
        check_file(&path, &status)?;
        Ok(file.into())
    }

    /// Renames a file, and replaces a file that has the new name.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(self, from, self, to)?)
    }

    /// Writes changes of the folder to the disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(self)?)
    }

    /// Removes a file or link; a missing one is no error.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        if_there(unlinkat(self, name.as_ref(), AtFlags::empty()))
    }

    /// Removes a subfolder with its content; a missing one is no error. Removes a link, not its
    /// target.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_to_depth(name.as_ref(), MAX_DEPTH)
    }

    fn remove_to_depth(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        let folder = match self.open(name) {
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => return self.remove_file(name),
            result => result?,
        };
        let left = depth.checked_sub(1).ok_or(Errno::LOOP)?;
        for (inner, _) in folder
            .entries()
            .map_err(|error| io::Error::other(error.message.clone()))?
        {
            folder.remove_to_depth(&inner, left)?;
        }
        if_there(unlinkat(self, name, AtFlags::REMOVEDIR))
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Refuses everything except a plain file of this process's user without further hard links.
pub fn check_file(path: &Path, status: &Stat) -> Result<()> {
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if is_file && status.st_uid == geteuid().as_raw() && status.st_nlink == 1 {
        return Ok(());
    }
    let what = if is_file {
        format!("a file of user {} with {} names", status.st_uid, status.st_nlink)
    } else {
        "no file".to_owned()
    };
    Err(refused(path, &what, "remove it"))
}

/// The error for foreign files in a folder of ours.
pub fn refused(path: &Path, what: &str, fix: &str) -> FabricError {
    let message = format!(
        "{} is {what}: it is not cubeyard-fabric's, and nothing in it was touched",
        path.display()
    );
    FabricError::state(message, fix)
}

fn if_there(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error != Errno::NOENT => Err(error.into()),
        _ => Ok(()),
    }
}

/// The names of a path, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

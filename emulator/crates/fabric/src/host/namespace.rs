//! Network namespaces: making, naming, entering and removing them.
//!
//! A thread enters a namespace, does its work and ends; no long-lived thread is ever in another
//! namespace.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use rustix::mount::{MountPropagationFlags, UnmountFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{During, FabricError, Result};

/// The folder of namespace names, shared with `ip netns`.
pub const NAMES: &str = "/run/netns";

/// A network namespace, which exists at least as long as this value.
#[derive(Debug)]
pub struct Namespace {
    link: OwnedFd,
}

/// Identifies a namespace while the namespace exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct NamespaceId {
    /// Device of the namespace file system.
    pub device: u64,
    /// Inode there; another namespace may reuse it later.
    pub inode: u64,
}

impl NamespaceId {
    /// The namespace at a path; `None` if the path is missing.
    pub fn at(path: &Path) -> Option<NamespaceId> {
        let status = fs::metadata(path).ok()?;
        Some(NamespaceId {
            device: status.dev(),
            inode: status.ino(),
        })
    }
}

impl Namespace {
    /// Opens the network namespace of a process.
    pub fn of_process(pid: u32) -> Result<Namespace> {
        Namespace::open(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// Opens the namespace with this name.
    pub fn named(name: &str) -> Result<Namespace> {
        Namespace::open(&path_of(name))
    }

    /// Opens the namespace of the calling thread.
    pub fn current() -> Result<Namespace> {
        Namespace::open(Path::new("/proc/thread-self/ns/net"))
    }

    /// A second handle of the same namespace.
    pub fn duplicate(&self) -> Result<Namespace> {
        let link = self
            .link
            .try_clone()
            .during(|| "holding a namespace".to_owned())?;
        Ok(Namespace { link })
    }

    fn open(path: &Path) -> Result<Namespace> {
        let file = File::open(path).during(|| format!("opening the namespace {}", path.display()))?;
        Ok(Namespace { link: file.into() })
    }

    /// Creates a namespace, moves the calling thread into it permanently, and gives it a name. The
    /// name keeps the namespace after all its processes have ended.
    pub fn create_and_enter(name: &str) -> Result<Namespace> {
        let path = path_of(name);
        File::create_new(&path).during(|| format!("making the name of namespace {name}"))?;
        nix::sched::unshare(CloneFlags::CLONE_NEWNET).during(|| format!("making namespace {name}"))?;
        rustix::mount::mount_bind("/proc/thread-self/ns/net", &path)
            .during(|| format!("naming namespace {name}"))?;
        Namespace::current()
    }

    /// Does the same in another thread, so that the caller stays in its namespace.
    pub fn create(name: &str) -> Result<Namespace> {
        in_own_thread(|| Namespace::create_and_enter(name))
    }

    /// Returns the identity of the namespace.
    pub fn id(&self) -> Result<NamespaceId> {
        let status = rustix::fs::fstat(&self.link).during(|| "looking at a namespace".to_owned())?;
        Ok(NamespaceId {
            device: status.st_dev,
            inode: status.st_ino,
        })
    }

    /// Runs `work` in a thread inside the namespace and waits for it.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        in_own_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread into the namespace for the rest of the thread's life.
    pub fn enter(&self) -> Result<()> {
        move_into_link_name_space(self.link.as_fd(), Some(LinkNameSpaceType::Network))
            .during(|| "entering a namespace".to_owned())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

fn in_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn path_of(name: &str) -> PathBuf {
    Path::new(NAMES).join(name)
}

/// Prepares the folder of names as `ip netns` does: as a shared mount point.
pub fn prepare_names() -> Result<()> {
    fs::create_dir_all(NAMES).during(|| format!("making {NAMES}"))?;
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    if rustix::mount::mount_change(NAMES, shared).is_ok() {
        return Ok(());
    }
    rustix::mount::mount_bind_recursive(NAMES, NAMES)
        .and_then(|()| rustix::mount::mount_change(NAMES, shared))
        .during(|| format!("sharing {NAMES}"))
}

/// The identity of the namespace with this name; `None` if the name is missing or was never bound
/// to a namespace.
pub fn id_of_name(name: &str) -> Option<NamespaceId> {
    let status = rustix::fs::stat(path_of(name)).ok()?;
    let magic = rustix::fs::statfs(path_of(name)).ok()?.f_type;
    const NSFS_MAGIC: i64 = 0x6e73_6673;
    (magic == NSFS_MAGIC).then_some(NamespaceId {
        device: status.st_dev,
        inode: status.st_ino,
    })
}

/// Removes a name. The namespace disappears with its last process and holder. A missing name is no
/// error.
pub fn remove_name(name: &str) -> Result<()> {
    let path = path_of(name);
    // There may be several mounts if making the name was interrupted and tried again.
    while rustix::mount::unmount(&path, UnmountFlags::DETACH).is_ok() {}
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FabricError::system(
            format!("removing the name of namespace {name}"),
            error,
        )),
        _ => Ok(()),
    }
}

/// All names that start with `prefix`, in order.
pub fn names_with_prefix(prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(NAMES).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    names
}

/// Writes a value under `/proc/sys/net` in the namespace of the calling thread. A setting that the
/// kernel lacks is no error.
pub fn set_sysctl(name: &str, value: &str) -> Result<()> {
    match fs::write(Path::new("/proc/sys/net").join(name), value) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FabricError::system(
            format!("setting net/{name} to {value}"),
            error,
        )),
        _ => Ok(()),
    }
}

/// Whether the kernel has a setting of this name.
pub fn has_sysctl(name: &str) -> bool {
    Path::new("/proc/sys/net").join(name).exists()
}

/// Sets the defaults of a new namespace, in which the calling thread must be: no IPv6, no reverse
/// path filter, no firewall on bridges, and the same TCP settings on every host.
///
/// TCP is Reno, which every kernel has and allows in a namespace. BBR keeps four packets of each
/// flow in flight however many flows share a link; with jumbo frames that starves some of them for
/// seconds. TCP's super-packets are no larger than a flow's rate requires: by default they grow as
/// the round-trip time shrinks, to 64 KiB in a network without real cables, and queues then accept
/// or drop dozens of packets at once. Flows on equal paths differed by up to a factor of eight;
/// with this setting by a few per cent. `[ours, measured]`
pub fn apply_defaults() -> Result<()> {
    for (name, value) in [
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
        ("ipv4/tcp_congestion_control", "reno"),
        ("ipv4/tcp_tso_rtt_log", "0"),
        // Every probe of a `traceroute` is answered.
        ("ipv4/icmp_ratemask", "0"),
        ("bridge/bridge-nf-call-iptables", "0"),
        ("bridge/bridge-nf-call-ip6tables", "0"),
        ("bridge/bridge-nf-call-arptables", "0"),
    ] {
        set_sysctl(name, value)?;
    }
    Ok(())
}

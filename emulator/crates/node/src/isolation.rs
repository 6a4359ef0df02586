//! The program that a pod runs before a user's program: waits until the fabric has removed the pod
//! from the cluster's network.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

const INTERFACES: &str = "/sys/class/net";
const LOOPBACK: &str = "lo";
/// The lowest bit of an interface's flags. `[man 7 netdevice]`
const IFF_UP: u32 = 1;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns once loopback is the only interface that is up.
///
/// # Errors
/// Interfaces cannot be listed.
pub fn wait() -> io::Result<()> {
    while !is_isolated(Path::new(INTERFACES))? {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Whether every interface below this folder except loopback is down. An interface whose flags
/// cannot be read counts as up.
fn is_isolated(interfaces: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(interfaces)? {
        let entry = entry?;
        if entry.file_name() != LOOPBACK && is_up(&entry.path()) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_up(interface: &Path) -> bool {
    // Interfaces are folders, but `bonding_masters` in the same place is a file.
    if !interface.is_dir() {
        return false;
    }
    let text = fs::read_to_string(interface.join("flags")).unwrap_or_default();
    let digits = text.trim().strip_prefix("0x").unwrap_or_default();
    u32::from_str_radix(digits, 16).map_or(true, |flags| flags & IFF_UP != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_what_is_down_do_not_count() {
        let root = std::env::temp_dir().join(format!("cubeyard-interfaces-{}", std::process::id()));
        let set = |name: &str, flags: &str| {
            fs::create_dir_all(root.join(name)).expect("a folder");
            fs::write(root.join(name).join("flags"), flags).expect("a file");
            is_isolated(&root).expect("a listing")
        };
        assert!(set("lo", "0x9\n"));
        assert!(!set("eth0", "0x1003\n"));
        assert!(set("eth0", "0x1002\n"));
        assert!(!set("net1", "nonsense\n"));
        assert!(set("net1", "0x0\n"));
        fs::write(root.join("bonding_masters"), "").expect("a file");
        assert!(is_isolated(&root).expect("a listing"));
        fs::remove_dir_all(&root).expect("ours");
        assert!(is_isolated(&root).is_err());
    }
}

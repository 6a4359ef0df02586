//! What an engine that was killed leaves of a container: a shim, a process and control groups.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{Host, can_emulate, fresh_run};
use serde_json::json;

/// A hierarchy of control groups in which this process may make some.
const HIERARCHIES: [&str; 2] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];

/// Starts a process under the name of a shim.
fn start_shim(folder: &Path, id: &str) -> Child {
    let shim = folder.join("containerd-shim-runc-v2");
    fs::write(
        &shim,
        "#!/bin/sh\nexec 2>/dev/null\nwhile sleep 0.2; do :; done\n",
    )
    .expect("a file");
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).expect("ours");
    Command::new(&shim)
        .args(["-namespace", "moby", "-id", id])
        .spawn()
        .expect("it starts")
}

fn has_ended(child: &mut Child) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        if child.try_wait().expect("a child").is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

#[test]
fn shims_processes_and_groups_of_containers_without_an_engine_are_removed() {
    if !can_emulate("shims_processes_and_groups_of_containers_without_an_engine_are_removed") {
        return;
    }
    let mut host = Host::start();
    let (ours, other) = ("5a".repeat(32), "6b".repeat(32));
    let mut shims = [&ours, &other].map(|id| start_shim(host.folder(), id));
    let groups: Vec<_> = [&ours, &other]
        .iter()
        .filter_map(|id| {
            let folder = format!("cubeyard-test-{}", std::process::id());
            let candidates = HIERARCHIES.map(|root| Path::new(root).join(&folder).join(id));
            candidates
                .into_iter()
                .find(|group| fs::create_dir_all(group).is_ok())
        })
        .collect();
    assert_eq!(groups.len(), 2, "root may make control groups");
    let mut inside = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    fs::write(groups[0].join("cgroup.procs"), inside.id().to_string()).expect("it joins the group");
    host.ask("destroy", json!({"run": fresh_run(), "strays": [ours]}));
    assert!(has_ended(&mut shims[0]), "the shim of the container");
    assert!(has_ended(&mut inside), "the process in it");
    let deadline = Instant::now() + Duration::from_secs(3);
    while groups[0].exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!groups[0].exists(), "its control group");
    assert!(
        shims[1].try_wait().expect("a child").is_none(),
        "another container's shim goes on"
    );
    assert!(groups[1].exists());
    shims[1].kill().expect("it runs");
    shims[1].wait().expect("it ends");
    fs::remove_dir(&groups[1]).expect("it is empty");
    fs::remove_dir(groups[1].parent().expect("a parent")).expect("it is empty");
}

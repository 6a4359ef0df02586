//! Folders with files and links of other users: a fabric, as root, changes none of them.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Host, can_emulate, describe, fresh_folder, fresh_run, spawn_fabric};
use cubeyard_fabric::error::FabricError;
use cubeyard_fabric::journal::{Entry, State};
use cubeyard_fabric::names::RunId;
use serde_json::json;

const NOBODY: u32 = 65_534;
const RUN: &str = "0123456789abcd";

/// A folder for this test, with a state folder and a folder of another user.
struct Place {
    root: PathBuf,
}

impl Place {
    /// `None` if this process is not root: only root can give files to other users.
    fn new(test: &str) -> Option<Place> {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "in CI nothing may skip");
            eprintln!("{test} skipped: only root can give folders away");
            return None;
        }
        let root = fresh_folder();
        fs::create_dir(&root).expect("a folder");
        let place = Place { root };
        fs::create_dir_all(place.victim().join(RUN)).expect("a folder");
        fs::write(place.victim().join(RUN).join("data"), "theirs").expect("a file");
        fs::set_permissions(place.victim(), fs::Permissions::from_mode(0o750)).expect("ours");
        Some(place)
    }

    fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    fn victim(&self) -> PathBuf {
        self.root.join("victim")
    }

    fn victims_file(&self) -> PathBuf {
        self.victim().join(RUN).join("data")
    }

    /// Makes the state folder as a fabric does.
    fn make_state(&self) {
        drop(State::open(&self.state(), None).expect("a state folder"));
    }

    fn is_untouched(&self) -> bool {
        let status = fs::metadata(self.victim()).expect("it is there");
        let data = fs::metadata(self.victims_file()).expect("it is there");
        (
            status.mode() & 0o777,
            status.uid(),
            data.uid(),
            data.mode() & 0o777,
        ) == (0o750, 0, 0, 0o644)
            && fs::read_to_string(self.victims_file()).expect("it is there") == "theirs"
            && names(&self.victim()) == [RUN]
    }

    /// Checks that opening is refused with this path and fix, and changes nothing.
    fn refuses(&self, path: &Path, fix: &str) {
        self.refuses_for(None, path, fix);
    }

    fn refuses_for(&self, caller: Option<u32>, path: &Path, fix: &str) {
        let before = listing(&self.state());
        let error: FabricError = State::open(&self.state(), caller).expect_err("it is hostile");
        let message = error.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
        assert!(
            error.fix.as_deref().unwrap_or_default().contains(fix),
            "{message}"
        );
        assert!(self.is_untouched(), "{message}");
        assert_eq!(listing(&self.state()), before, "{message}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Owner, mode and names of a folder.
fn listing(folder: &Path) -> (u32, u32, Vec<String>) {
    let status = fs::symlink_metadata(folder).expect("it is there");
    (status.uid(), status.mode(), names(folder))
}

fn make(path: &Path, mode: u32, owner: u32) {
    fs::create_dir(path).expect("a folder");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    chown(path, Some(owner), Some(owner)).expect("root may");
}

#[test]
fn a_state_folder_that_is_a_link_is_refused() {
    let Some(place) = Place::new("a_state_folder_that_is_a_link_is_refused") else {
        return;
    };
    symlink(place.victim(), place.state()).expect("a link");
    place.refuses(&place.state(), "remove it");
}

#[test]
fn a_state_folder_behind_a_link_of_another_user_is_refused() {
    let Some(place) = Place::new("a_state_folder_behind_a_link_of_another_user_is_refused") else {
        return;
    };
    let theirs = place.root.join("theirs");
    symlink(place.victim(), &theirs).expect("a link");
    std::os::unix::fs::lchown(&theirs, Some(NOBODY), Some(NOBODY)).expect("root may");
    let error = State::open(&theirs.join(RUN), None).expect_err("it is hostile");
    assert!(
        error
            .message
            .starts_with(&format!("{} is a link", theirs.display())),
        "{error}"
    );
    assert!(place.is_untouched());
}

#[test]
fn a_link_of_root_where_only_root_can_make_one_is_followed() {
    let Some(place) = Place::new("a_link_of_root_where_only_root_can_make_one_is_followed") else {
        return;
    };
    let link = place.root.join("run");
    symlink(".", &link).expect("a link");
    State::open(&link.join("state"), None).expect("as /var/run leads to /run");
    assert_eq!(
        names(&place.state()),
        ["cubeyard-fabric", "journal", "lock", "runs"]
    );
}

#[test]
fn parts_of_a_state_folder_that_are_links_are_refused() {
    let Some(place) = Place::new("parts_of_a_state_folder_that_are_links_are_refused") else {
        return;
    };
    for part in ["lock", "cubeyard-fabric", "journal", "runs"] {
        place.make_state();
        let path = place.state().join(part);
        let target = if path.is_dir() {
            fs::remove_dir(&path).expect("it is empty");
            place.victim()
        } else {
            fs::remove_file(&path).expect("a file");
            place.victims_file()
        };
        symlink(target, &path).expect("a link");
        place.refuses(&path, "remove it");
        fs::remove_dir_all(place.state()).expect("ours");
    }
}

#[test]
fn links_among_runs_and_entries_are_refused() {
    let Some(place) = Place::new("links_among_runs_and_entries_are_refused") else {
        return;
    };
    for (part, target) in [
        (format!("runs/{RUN}"), place.victim().join(RUN)),
        (format!("journal/{RUN}.json"), place.victims_file()),
        (format!("journal/{RUN}.draft"), place.victims_file()),
    ] {
        place.make_state();
        let path = place.state().join(part);
        symlink(target, &path).expect("a link");
        place.refuses(&path, "remove it");
        fs::remove_dir_all(place.state()).expect("ours");
    }
}

#[test]
fn a_lock_with_a_second_name_is_refused_and_not_emptied() {
    let Some(place) = Place::new("a_lock_with_a_second_name_is_refused_and_not_emptied") else {
        return;
    };
    make(&place.state(), 0o700, 0);
    fs::hard_link(place.victims_file(), place.state().join("lock")).expect("a second name");
    place.refuses(&place.state().join("lock"), "remove it");
}

#[test]
fn a_state_folder_of_another_user_is_refused() {
    let Some(place) = Place::new("a_state_folder_of_another_user_is_refused") else {
        return;
    };
    make(&place.state(), 0o700, NOBODY);
    place.refuses(&place.state(), "give a path of your own");
    place.refuses_for(Some(1000), &place.state(), "give a path of your own");
}

#[test]
fn a_state_folder_that_others_can_reach_is_refused() {
    let Some(place) = Place::new("a_state_folder_that_others_can_reach_is_refused") else {
        return;
    };
    for mode in [0o755, 0o770, 0o777] {
        make(&place.state(), mode, 0);
        place.refuses(&place.state(), &format!("chmod 0700 {}", place.state().display()));
        fs::remove_dir(place.state()).expect("ours");
    }
    for part in ["journal", "runs"] {
        place.make_state();
        let path = place.state().join(part);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("ours");
        place.refuses(&path, &format!("chmod 0700 {}", path.display()));
        fs::remove_dir_all(place.state()).expect("ours");
    }
}

#[test]
fn a_state_folder_with_foreign_content_is_refused() {
    let Some(place) = Place::new("a_state_folder_with_foreign_content_is_refused") else {
        return;
    };
    for part in ["thesis.tex", "journal/notes.txt", "runs/holiday"] {
        place.make_state();
        let path = place.state().join(part);
        fs::write(&path, "somebody's").expect("a file");
        place.refuses(&path, "give another --state");
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "somebody's");
        fs::remove_dir_all(place.state()).expect("ours");
    }
    for part in ["journal", "runs", &format!("runs/{RUN}")] {
        place.make_state();
        let path = place.state().join(part);
        let _ = fs::remove_dir(&path);
        make(&path, 0o700, NOBODY);
        place.refuses(&path, "");
        fs::remove_dir_all(place.state()).expect("ours");
    }
}

#[test]
fn the_state_folder_of_the_user_that_is_served_is_taken_over() {
    let Some(place) = Place::new("the_state_folder_of_the_user_that_is_served_is_taken_over") else {
        return;
    };
    make(&place.state(), 0o700, NOBODY);
    drop(State::open(&place.state(), Some(NOBODY)).expect("as older versions have left it"));
    assert_eq!(fs::metadata(place.state()).expect("it is there").uid(), 0);
    drop(State::open(&place.state(), None).expect("it is root's now"));
}

#[test]
fn paths_swapped_while_a_fabric_runs_reach_no_foreign_files() {
    let Some(place) = Place::new("paths_swapped_while_a_fabric_runs_reach_no_foreign_files") else {
        return;
    };
    let state = State::open(&place.state(), None).expect("a state folder");
    let run: RunId = RUN.parse().expect("a run's id");
    state
        .make_run_folder(&run)
        .expect("a folder")
        .make("7", 0o755)
        .expect("a folder");
    let entry = Entry {
        run: run.clone(),
        namespaces: Vec::new(),
        containers: Vec::new(),
    };
    state.write(&entry).expect("it is written");
    // The owner of the parent folder replaces the state folder by another one.
    let moved = place.root.join("moved");
    fs::rename(place.state(), &moved).expect("ours");
    fs::create_dir(place.state()).expect("a folder");
    symlink(place.victim(), place.state().join("runs")).expect("a link");
    symlink(place.victim(), place.state().join("journal")).expect("a link");
    // A link in a run's folder, as a container could make it, is removed and not followed.
    symlink(place.victim(), moved.join("runs").join(RUN).join("7/link")).expect("a link");
    state.write(&entry).expect("it is written");
    state.forget(&run).expect("it is removed");
    state.sweep().expect("nothing is left");
    assert!(place.is_untouched());
    assert!(names(&moved.join("runs")).is_empty() && names(&moved.join("journal")).is_empty());
}

#[test]
fn an_entry_that_names_no_namespaces_of_its_run_is_not_believed() {
    let Some(place) = Place::new("an_entry_that_names_no_namespaces_of_its_run_is_not_believed") else {
        return;
    };
    place.make_state();
    for name in [
        "../../etc/passwd",
        "cy-01234567-../x",
        "cy-76543210-sw",
        "cy-01234567-",
        "host",
    ] {
        let entry = json!({"run": RUN, "namespaces": [name], "containers": []});
        let path = place.state().join("journal").join(format!("{RUN}.json"));
        fs::write(&path, entry.to_string()).expect("a file");
        let state = State::open(&place.state(), None).expect("a state folder");
        assert_eq!(state.entries().expect("they are read"), [], "{name}");
    }
}

/// Starts a fabric that refuses to serve; returns its output.
fn refused_start(folder: &Path, uid: &str) -> String {
    let served = Command::new(env!("CARGO_BIN_EXE_cubeyard-fabric"))
        .args(["serve", "--uid", uid, "--socket"])
        .arg(folder.join("socket"))
        .arg("--state")
        .arg(folder.join("own"))
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    assert!(!served.status.success());
    String::from_utf8_lossy(&served.stderr).into_owned()
}

#[test]
fn a_socket_takes_the_place_of_nothing_but_a_socket() {
    if !can_emulate("a_socket_takes_the_place_of_nothing_but_a_socket") {
        return;
    }
    let Some(place) = Place::new("a_socket_takes_the_place_of_nothing_but_a_socket") else {
        return;
    };
    let path = place.root.join("socket");
    let refuses = |fix: &str| {
        let message = refused_start(&place.root, "1000");
        assert!(
            message.contains(&path.display().to_string()) && message.contains(fix),
            "{message}"
        );
        assert!(place.is_untouched(), "{message}");
        assert_eq!(
            names(&place.root),
            ["own", "socket", "victim"],
            "no other file remains"
        );
    };
    symlink(place.victims_file(), &path).expect("a link");
    refuses("remove it");
    fs::remove_file(&path).expect("a link");
    fs::write(&path, "somebody's").expect("a file");
    refuses("remove it");
    assert_eq!(fs::read_to_string(&path).expect("it stays"), "somebody's");
    fs::remove_file(&path).expect("a file");
    drop(UnixListener::bind(&path).expect("a socket"));
    chown(&path, Some(NOBODY), Some(NOBODY)).expect("root may");
    refuses("remove it");
}

#[test]
fn a_socket_is_made_in_no_folder_of_others() {
    if !can_emulate("a_socket_is_made_in_no_folder_of_others") {
        return;
    }
    let Some(place) = Place::new("a_socket_is_made_in_no_folder_of_others") else {
        return;
    };
    for (mode, owner, fix) in [
        (0o700, NOBODY, "a folder of your own"),
        (0o777, 1000, "chmod go-w"),
        (0o770, 0, "chmod go-w"),
    ] {
        let folder = place.root.join("theirs");
        make(&folder, mode, owner);
        // Root makes the state folder; the folder of the socket is refused.
        let message = refused_start(&folder, "1000");
        assert!(
            message.contains(&folder.display().to_string()) && message.contains(fix),
            "{message}"
        );
        assert!(!folder.join("socket").exists());
        fs::remove_dir_all(&folder).expect("ours");
    }
}

#[test]
fn a_dead_fabrics_socket_is_replaced_and_belongs_to_the_user_that_is_served() {
    if !can_emulate("a_dead_fabrics_socket_is_replaced_and_belongs_to_the_user_that_is_served") {
        return;
    }
    let folder = fresh_folder();
    let node = common::silent_node();
    let mut dead = spawn_fabric(&folder, &node, &[]);
    drop(common::connect(&folder));
    dead.kill().expect("it runs");
    dead.wait().expect("it ends");
    assert!(folder.join("socket").exists());
    let mut host = Host::start_in(folder.clone());
    let run = host.build(&describe(
        &json!({"family": "bcube", "n": 2, "k": 1}),
        &fresh_run(),
        "kernel",
        1e8,
    ));
    let status = fs::metadata(folder.join("socket")).expect("a socket");
    assert_eq!((status.uid(), status.mode() & 0o777), (0, 0o600));
    assert_eq!(names(&folder), ["socket", "state"]);
    host.ask("destroy", json!({"run": run}));
}

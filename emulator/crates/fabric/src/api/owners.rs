//! Runs that end with the caller that prepared them. Shortly after its connection closes, for any
//! reason, the run is destroyed together with the processes in its containers.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::Fabric;
use crate::error::{During, Result};
use crate::names::RunId;

/// How long a caller whose connection broke may take to prepare its run again on a new one.
const GRACE: Duration = Duration::from_secs(2);
/// How often the destruction of a run is tried. The constant after it is the time between tries.
const ATTEMPTS: u32 = 5;
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);

/// The latest owner of each run that has one.
#[derive(Debug, Default)]
pub struct Owners(Mutex<(u64, BTreeMap<RunId, u64>)>);

impl Owners {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<RunId, u64>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a run a new owner, and returns the owner's number.
    fn replace(&self, run: &RunId) -> u64 {
        let mut owners = self.lock();
        owners.0 += 1;
        let number = owners.0;
        owners.1.insert(run.clone(), number);
        number
    }

    /// Removes the entry of a run if this number is its latest owner's. Returns whether it was.
    fn remove_if(&self, run: &RunId, number: u64) -> bool {
        let mut owners = self.lock();
        let is_owner = owners.1.get(run) == Some(&number);
        if is_owner {
            owners.1.remove(run);
        }
        is_owner
    }

    /// Forgets the owner of a run that was destroyed.
    pub fn forget(&self, run: &RunId) {
        self.lock().1.remove(run);
    }
}

/// Makes the caller at this connection the owner of a run.
pub fn end_with_caller(fabric: &Arc<Fabric>, run: &RunId, connection: &UnixStream) -> Result<()> {
    let connection = connection
        .try_clone()
        .during(|| "watching the caller".to_owned())?;
    let number = fabric.owners.replace(run);
    let (fabric, run) = (fabric.clone(), run.clone());
    std::thread::Builder::new()
        .name("owner".to_owned())
        .spawn(move || {
            wait_until_closed(&connection);
            std::thread::sleep(GRACE);
            if fabric.owners.remove_if(&run, number) {
                end(&fabric, &run);
            }
        })
        .map(drop)
        .during(|| "watching the caller".to_owned())
}

fn wait_until_closed(connection: &UnixStream) {
    let mut sources = [PollFd::new(connection, PollFlags::RDHUP)];
    while poll(&mut sources, None) == Err(rustix::io::Errno::INTR) {}
}

fn end(fabric: &Fabric, run: &RunId) {
    let _ = writeln!(
        std::io::stderr(),
        "cubeyard-fabric: run {run} ends: its owner is gone"
    );
    for _ in 0..ATTEMPTS {
        match fabric.end_run(run) {
            Ok(_) => return,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "cubeyard-fabric: ending run {run}: {error}");
            }
        }
        std::thread::sleep(BETWEEN_ATTEMPTS);
    }
}

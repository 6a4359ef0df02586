//! The programs that assign each flow or service to a separate queue at the ends of links. All runs
//! of this process share one copy.

use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use aya::Ebpf;
use cubeyard_dataplane::object::{FAIR, FAIR_COMMON, FAIR_SERVICES};

use super::object::{descriptor, open, program};
use crate::error::{During, Result};
use crate::netlink::{Classes, Sharers};

static LOADED: OnceLock<Ebpf> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// Loads the programs if they are not loaded yet.
pub fn load() -> Result<()> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if LOADED.get().is_none() {
        let mut loaded = open(FAIR)?;
        let further = FAIR_SERVICES.into_iter().chain([FAIR.port, FAIR_COMMON]);
        for name in FAIR.virtual_nic.into_iter().chain(further) {
            program(&mut loaded, name)?
                .load()
                .during(|| "loading the classifiers of fair queues".to_owned())?;
        }
        LOADED.get_or_init(|| loaded);
    }
    Ok(())
}

/// The classes of an end, each of which sends `turn_bytes` per turn; `None` before the programs are
/// loaded.
pub fn classes(sharers: Sharers, at_server: bool, turn_bytes: u32) -> Option<Classes> {
    let loaded = LOADED.get()?;
    let number = |name| descriptor(loaded, name).map(|program| program.as_raw_fd()).ok();
    let own = match sharers {
        Sharers::Flows if at_server => FAIR.virtual_nic?,
        Sharers::Flows => FAIR.port,
        Sharers::Services => FAIR_SERVICES[usize::from(!at_server)],
    };
    Some(Classes {
        sharers,
        own: number(own)?,
        common: number(FAIR_COMMON)?,
        turn_bytes,
    })
}

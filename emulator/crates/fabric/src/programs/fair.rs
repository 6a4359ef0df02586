//! The programs that give each flow a queue of its own at the ends of links. One copy serves every run of this process.

use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use aya::Ebpf;
use cubeyard_dataplane::object::{FAIR, FAIR_COMMON};

use super::object::{descriptor, open, program};
use crate::error::{During, Result};
use crate::netlink::Classifiers;

static LOADED: OnceLock<Ebpf> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// Loads the programs, unless they are.
pub fn load() -> Result<()> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if LOADED.get().is_none() {
        let mut loaded = open(FAIR)?;
        for name in FAIR.virtual_nic.into_iter().chain([FAIR.port, FAIR_COMMON]) {
            program(&mut loaded, name)?
                .load()
                .during(|| "loading the classifiers of fair queues".to_owned())?;
        }
        LOADED.get_or_init(|| loaded);
    }
    Ok(())
}

/// The programs for an end; `None` before they are loaded.
pub fn classifiers(at_server: bool) -> Option<Classifiers> {
    let loaded = LOADED.get()?;
    let number = |name| descriptor(loaded, name).map(|program| program.as_raw_fd()).ok();
    let fair = if at_server { FAIR.virtual_nic? } else { FAIR.port };
    Some(Classifiers {
        fair: number(fair)?,
        common: number(FAIR_COMMON)?,
    })
}

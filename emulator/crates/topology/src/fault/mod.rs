//! Faults: the ways in which a server, a switch or a link can fail, declared once.
//!
//! Inside: every kind with its parameters, their limits and its effect as data (`kinds`); the form
//! of these declarations (`entry`); a fault with its target and times, and the only check of its
//! numbers (`value`); its text form (`text`).
//!
//! The flow engine, the packet engine, the fabric and the container side act on [`Effect`] and name
//! no kind. The API, the page and the command line read [`catalog_json`].
//!
//! Not here: which devices a target means and what a prediction makes of an effect
//! (`cubeyard_sim`), and how an effect is injected into real packets (`cubeyard_fabric`).

mod entry;
mod kinds;
mod text;
mod value;

pub use entry::{FaultEntry, FaultParameter, FaultProcess, FaultTarget, StandsFor, catalog_json};
pub use kinds::{CATALOG, Effect, FaultKind, LinkEffect, LinkQuality, PERIOD};
pub use value::{Fault, Named, Selected, Share, Target, TargetKind, Values};

//! Switches that are switching chips: the interface of a protocol whose packets the switches' own
//! tables forward.
//!
//! The tables are in the kernel ([`crate::chip_tables`]). One [`SwitchControl`] implements the
//! chips' CPUs for all switches of a run; its owner passes events to it. It is sans-IO: packets
//! come in and go out as values.

use std::collections::BTreeSet;
use std::fmt::Debug;

use cubeyard_topology::{NodeId, TopologySpec};

use crate::configuration::ConfigurationError;
use crate::event::Event;
use crate::inspection::Section;
use crate::object::KernelObject;

/// Chips as switches, in the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct ChipSwitches {
    /// The object whose program runs at every port of a switch.
    pub object: KernelObject,
    /// Type of the Ethernet frames for the CPUs.
    pub cpu_frames: u16,
    /// Creates the CPUs of a topology's switches.
    pub control: fn(&TopologySpec) -> Result<Box<dyn SwitchControl>, ConfigurationError>,
}

/// The effects of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Frames to send, with switch and port.
    pub frames: Vec<(NodeId, u8, Vec<u8>)>,
    /// Switches whose programs have changed.
    pub changed: BTreeSet<NodeId>,
    /// Events at switches, for the log.
    pub events: Vec<(NodeId, Event)>,
}

/// The CPUs of all switches of a run.
pub trait SwitchControl: Send + Debug {
    /// The current program of a switch, as text.
    fn program(&self, switch: NodeId) -> String;

    /// Handles a frame for the CPU of a switch, which arrived at a port.
    fn on_frame(&mut self, switch: NodeId, port: u8, frame: &[u8]) -> Effects;

    /// Checks, about once a second, which servers have become silent. `packets` returns the number
    /// of packets that have arrived at a port of a switch.
    fn look(&mut self, packets: &dyn Fn(NodeId, u8) -> u64) -> Effects;

    /// Reports the failed links, each by its two nodes; all other links work.
    fn on_failures(&mut self, links: &BTreeSet<(NodeId, NodeId)>) -> Effects;

    /// The nodes on a flow's path between two servers, including both; empty if there is no path,
    /// or it is not known.
    fn path(&self, ends: [NodeId; 2], source_port: u16) -> Vec<NodeId>;

    /// The state of a switch's CPU, for display.
    fn inspect(&self, switch: NodeId) -> Vec<Section>;
}

//! Switches that are switching chips: the interface of a protocol whose packets are forwarded by
//! the switches' own tables.
//!
//! The tables are in the kernel ([`crate::chip_tables`]); one [`SwitchControl`] implements the
//! chips' CPUs for all switches of a run; its owner passes it the events. It is sans-IO: packets
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
    /// The object that runs at every port of a switch.
    pub object: KernelObject,
    /// Type of the Ethernet frames that are the CPUs'.
    pub cpu_frames: u16,
    /// Makes the CPUs of a topology's switches.
    pub control: fn(&TopologySpec) -> Result<Box<dyn SwitchControl>, ConfigurationError>,
}

/// The effects of a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Frames that leave: by which switch and port.
    pub frames: Vec<(NodeId, u8, Vec<u8>)>,
    /// Switches whose programs are others now.
    pub changed: BTreeSet<NodeId>,
    /// Events at switches, for the log.
    pub events: Vec<(NodeId, Event)>,
}

/// The CPUs of all switches of a run.
pub trait SwitchControl: Send + Debug {
    /// The program of a switch now, as text.
    fn program(&self, switch: NodeId) -> String;

    /// A frame that came in by a port of a switch is its CPU's.
    fn on_frame(&mut self, switch: NodeId, port: u8, frame: &[u8]) -> Effects;

    /// Servers are looked at, about once a second: who has fallen silent? `packets` have come in by
    /// a port of a switch so far.
    fn look(&mut self, packets: &dyn Fn(NodeId, u8) -> u64) -> Effects;

    /// These links, by the two nodes of each, carry nothing, and all others do.
    fn on_failures(&mut self, links: &BTreeSet<(NodeId, NodeId)>) -> Effects;

    /// The nodes that packets of a flow pass between two servers, both included; none where there
    /// is no way, or it is not known.
    fn path(&self, ends: [NodeId; 2], source_port: u16) -> Vec<NodeId>;

    /// The state of a switch's CPU, for display.
    fn inspect(&self, switch: NodeId) -> Vec<Section>;
}

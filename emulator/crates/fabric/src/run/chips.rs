//! Switches that are switching chips: writes the decisions of their CPUs into the chips' tables,
//! and passes frames to and from the CPUs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cubeyard_dataplane::chip_tables::set_port;
use cubeyard_dataplane::event::{Event, SwitchReason};
use cubeyard_dataplane::inspection::Section;
use cubeyard_dataplane::switch_control::{Effects, SwitchControl};

use super::poller::{Poller, Token};
use super::state::RunState;
use crate::error::{During, FabricError, Result};
use crate::hellos::Hellos;
use crate::host::clock::monotonic_nanos;
use crate::kernels::Kernels;
use crate::links::{self, Site};
use crate::network::{Network, Place};

/// Frames that a CPU reads per turn. The kernel queues further ones, and drops them once its queue
/// is full.
const FRAMES_PER_TURN: usize = 64;
/// Bytes of a frame that a CPU reads; longer frames are truncated.
const FRAME_BYTES: usize = 256;

/// The CPUs of all chips of a run.
#[derive(Debug)]
pub struct Chips {
    control: Box<dyn SwitchControl>,
    /// By namespace and interface: the id of the switch, and its port.
    ports: BTreeMap<(usize, u32), (u32, u8)>,
    /// By switch and port: the namespace and the interface.
    interfaces: BTreeMap<(u32, u8), (usize, u32)>,
    /// The namespace of each switch, by the switch's id.
    rooms: BTreeMap<u32, usize>,
    /// Failed links that were reported to the CPUs, as pairs of nodes.
    failed: BTreeSet<(u32, u32)>,
    is_loaded: bool,
    /// Why paths of flows may have changed since the last event.
    untold: Option<SwitchReason>,
}

impl Chips {
    /// The initial state: no chip has a program, and no server is registered. `None` unless
    /// switches are chips.
    pub fn of(network: &Network) -> Result<Option<Chips>> {
        let Some(chips) = network.behaviour.entry.chips else {
            return Ok(None);
        };
        let control = (chips.control)(&network.spec)
            .map_err(|error| FabricError::bad("network.spec", error.value, error.limit, error.fix))?;
        let (mut ports, mut interfaces) = (BTreeMap::new(), BTreeMap::new());
        for (link, end) in (0..network.places.len()).flat_map(|link| [(link, 0), (link, 1)]) {
            let site = links::kind(network, link).site(network, link, end);
            if let (Place::Switch { switch, port }, Site::Room(room)) = (network.places[link][end], site) {
                let id = network.description.switches[switch].id;
                let index = links::interface(network, link, end);
                // The topology was checked, so its ports fit the chip's range.
                let port = port as u8;
                ports.insert((room, index), (id, port));
                interfaces.insert((id, port), (room, index));
            }
        }
        let switches = network.description.switches.iter().enumerate();
        Ok(Some(Chips {
            control,
            ports,
            interfaces,
            rooms: switches
                .map(|(at, switch)| (switch.id, network.rooms.of_switch(at)))
                .collect(),
            failed: BTreeSet::new(),
            is_loaded: false,
            untold: None,
        }))
    }

    /// The reason why paths have changed since the last call; `None` if they have not.
    pub fn take_untold(&mut self) -> Option<SwitchReason> {
        self.untold.take()
    }

    /// The nodes on a flow's path, including both ends; empty without a path.
    pub fn path(&self, ends: [u32; 2], source_port: u16) -> Vec<u32> {
        self.control.path(ends, source_port)
    }

    /// Writes the programs of these switches to their chips.
    fn write(&self, kernels: &mut Kernels, switches: impl IntoIterator<Item = u32>) -> Result<()> {
        for switch in switches {
            let chip = self
                .rooms
                .get(&switch)
                .and_then(|room| kernels.rooms.get_mut(*room)?.chip.as_mut());
            if let Some(chip) = chip {
                let text = self.control.program(switch);
                let written = chip.programs.set_program(&text);
                written.during(|| format!("writing the tables of switch {switch}"))?;
            }
        }
        Ok(())
    }

    /// Writes programs and sends frames, as CPUs have decided; returns the events for the log.
    fn carry_out(&self, kernels: &mut Kernels, effects: Effects) -> Result<Vec<(u32, Event)>> {
        self.write(kernels, effects.changed)?;
        for (switch, port, frame) in effects.frames {
            let Some((room, index)) = self.interfaces.get(&(switch, port)) else {
                continue;
            };
            if let Some(chip) = kernels.rooms.get(*room).and_then(|room| room.chip.as_ref()) {
                chip.cpu.send(*index, &frame);
            }
        }
        Ok(effects.events)
    }

    /// Handles the frames for the CPU of a chip, given by its namespace.
    fn work(&mut self, kernels: &mut Kernels, room: usize) -> Result<Vec<(u32, Event)>> {
        let mut events = Vec::new();
        let mut frame = [0; FRAME_BYTES];
        for _ in 0..FRAMES_PER_TURN {
            let chip = kernels.rooms.get(room).and_then(|room| room.chip.as_ref());
            let Some((index, length)) = chip.and_then(|chip| chip.cpu.receive(&mut frame)) else {
                break;
            };
            if let Some(&(switch, port)) = self.ports.get(&(room, index)) {
                let effects = self.control.on_frame(switch, port, &frame[..length]);
                events.extend(self.carry_out(kernels, effects)?);
            }
        }
        Ok(events)
    }

    /// Makes the CPUs check the servers at their switches.
    fn look(&mut self, kernels: &mut Kernels) -> Result<Vec<(u32, Event)>> {
        let rooms = &self.rooms;
        let packets = |switch: u32, port: u8| {
            let room = rooms.get(&switch).and_then(|room| kernels.rooms.get(*room));
            let chip = room.and_then(|room| room.chip.as_ref());
            chip.map_or(0, |chip| chip.programs.received_packets(port))
        };
        let effects = self.control.look(&packets);
        self.carry_out(kernels, effects)
    }

    /// Writes each chip's port map once, and starts to receive frames for its CPU.
    fn load(&mut self, kernels: &mut Kernels, poller: &Arc<Poller>) -> Result<()> {
        for (&(room, index), &(_, port)) in &self.ports {
            if let Some(chip) = kernels.rooms.get_mut(room).and_then(|room| room.chip.as_mut()) {
                let written = chip.programs.apply(&set_port(port, index));
                written.during(|| "writing the ports of a chip".to_owned())?;
            }
        }
        for (number, room) in kernels.rooms.iter().enumerate() {
            if let Some(chip) = &room.chip {
                poller.add(&chip.cpu, Token::Cpu(number))?;
            }
        }
        self.is_loaded = true;
        Ok(())
    }
}

impl RunState {
    /// Reports failed links to the CPUs of chips, and writes the tables that change. Does nothing
    /// before the run is wired, since there are no chips yet.
    pub fn bring_chips(&mut self) -> Result<()> {
        if !self.kernels.is_wired() {
            return Ok(());
        }
        let Some(mut chips) = self.chips.take() else {
            return Ok(());
        };
        let done = self.bring(&mut chips);
        self.chips = Some(chips);
        done
    }

    fn bring(&mut self, chips: &mut Chips) -> Result<()> {
        let silent = self.hellos.iter().flat_map(Hellos::dead_links);
        let down = self.active_faults.links_down().chain(silent);
        let nodes = |link: usize| {
            let link = &self.network.description.links[link];
            (link.a[0], link.b[0])
        };
        let failed: BTreeSet<(u32, u32)> = down
            .map(nodes)
            .chain(self.network.outside.iter().copied())
            .collect();
        let mut effects = chips.control.on_failures(&failed);
        if !chips.is_loaded {
            chips.load(&mut self.kernels, &self.poller)?;
            effects.changed.extend(chips.rooms.keys());
        }
        if failed != chips.failed {
            let is_mended = failed.len() < chips.failed.len();
            chips.untold = Some(if is_mended {
                SwitchReason::Recovery
            } else {
                SwitchReason::Failure
            });
            chips.failed = failed;
        }
        let events = chips.carry_out(&mut self.kernels, effects)?;
        self.log_of_switches(events);
        Ok(())
    }

    fn log_of_switches(&mut self, events: Vec<(u32, Event)>) {
        for (switch, event) in events {
            self.events.add_of_node(switch, monotonic_nanos(), event);
        }
    }

    /// Handles the frames for the CPU of a chip, given by its namespace.
    pub fn on_cpu(&mut self, room: usize) -> Result<()> {
        if let Some(chips) = &mut self.chips {
            let events = chips.work(&mut self.kernels, room)?;
            self.log_of_switches(events);
        }
        Ok(())
    }

    /// Makes the CPUs of chips check the servers at their switches. Does nothing before the run is
    /// wired.
    pub fn look_at_servers(&mut self) -> Result<()> {
        if let Some(chips) = self.chips.as_mut().filter(|chips| chips.is_loaded) {
            let events = chips.look(&mut self.kernels)?;
            self.log_of_switches(events);
        }
        Ok(())
    }

    /// State of a switching chip for users; empty for other switches.
    pub fn chip_sections(&mut self, id: u32) -> Vec<Section> {
        let Some(chips) = &self.chips else {
            return Vec::new();
        };
        let mut sections = chips.control.inspect(id);
        let chip = chips
            .rooms
            .get(&id)
            .and_then(|room| self.kernels.rooms.get(*room)?.chip.as_ref());
        sections.extend(chip.into_iter().flat_map(|chip| chip.programs.inspect(&[])));
        sections
    }
}

//! Registers by name `[serverswitch §3.3.2]`: counters of ports, reasons for which packets were
//! discarded, and switches.

use std::fmt;

use crate::flaw::Flaw;
use crate::pipeline::DiscardReason;
use crate::profile::PORTS;

/// Where the bytes that wait at ports begin among [`Counters`].
const QUEUES: usize = 4 * PORTS as usize;
/// How many registers count.
pub const COUNTERS: usize = QUEUES + PORTS as usize + DiscardReason::ALL.len();

/// The counters of a chip, by [`Register::slot`]; the same in `bpf/serverswitch/chip.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters(pub [u64; COUNTERS]);

impl Default for Counters {
    fn default() -> Counters {
        Counters([0; COUNTERS])
    }
}

/// A register of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register {
    /// `IN_PACKETS_PORT0`: packets that came in by a port.
    InPackets(u8),
    /// `IN_BYTES_PORT0`: bytes of these packets.
    InBytes(u8),
    /// `OUT_PACKETS_PORT0`: packets sent out of a port.
    OutPackets(u8),
    /// `OUT_BYTES_PORT0`: bytes of these packets.
    OutBytes(u8),
    /// `OUTPUT_QUEUE_BYTES_PORT0`: bytes that wait at a port, as last reported by its owner. Read
    /// only.
    QueueBytes(u8),
    /// `DISCARDS_TTL`, `DISCARDS_NO_MATCH` and so on: packets discarded for a reason.
    Discards(DiscardReason),
    /// `L3_ENABLE`, 1 at first: 0 treats IPv4 packets as plain Ethernet.
    L3Enable,
    /// `MPLS_ENABLE`, 1 at first: 0 treats MPLS packets as plain Ethernet.
    MplsEnable,
    /// `MISS_TO_CPU`, 0 at first: 1 sends packets that match nothing to the CPU instead of
    /// discarding them.
    MissToCpu,
}

/// One kind of port register: its name before the port's number, and its constructor.
type PortKind = (&'static str, fn(u8) -> Register);

const PORT_KINDS: [PortKind; 5] = [
    ("IN_PACKETS_PORT", Register::InPackets),
    ("IN_BYTES_PORT", Register::InBytes),
    ("OUT_PACKETS_PORT", Register::OutPackets),
    ("OUT_BYTES_PORT", Register::OutBytes),
    ("OUTPUT_QUEUE_BYTES_PORT", Register::QueueBytes),
];

impl Register {
    /// All registers.
    pub fn all() -> Vec<Register> {
        let ports = PORT_KINDS.iter().flat_map(|(_, make)| (0..PORTS).map(make));
        let reasons = DiscardReason::ALL.into_iter().map(Register::Discards);
        let switches = [Register::L3Enable, Register::MplsEnable, Register::MissToCpu];
        ports.chain(reasons).chain(switches).collect()
    }

    /// The register with a name. Errors list the existing ones.
    pub fn by_name(name: &str) -> Result<Register, Flaw> {
        // Programs read registers of ports again and again: no name is written for them.
        let of_port = PORT_KINDS.iter().find_map(|(kind, make)| {
            let [digit @ b'0'..=b'7'] = name.strip_prefix(kind)?.as_bytes() else {
                return None;
            };
            Some(make(digit - b'0'))
        });
        let others = || {
            Register::all()
                .into_iter()
                .skip(PORT_KINDS.len() * usize::from(PORTS))
        };
        let found = of_port.or_else(|| others().find(|register| register.to_string() == name));
        found.ok_or_else(|| {
            let kinds: Vec<String> = PORT_KINDS
                .iter()
                .map(|(kind, _)| format!("{kind}0 to {kind}7"))
                .collect();
            let limit = format!(
                "{}, DISCARDS_…, L3_ENABLE, MPLS_ENABLE or MISS_TO_CPU",
                kinds.join(", ")
            );
            Flaw::new(
                "register-unknown",
                "reg",
                format!("\"{name}\""),
                limit,
                "Take one of these names.",
            )
        })
    }

    /// Its place among [`Counters`]; `None` of switches.
    pub fn slot(self) -> Option<usize> {
        let ports = usize::from(PORTS);
        Some(match self {
            Register::InPackets(port) => usize::from(port),
            Register::InBytes(port) => ports + usize::from(port),
            Register::OutPackets(port) => 2 * ports + usize::from(port),
            Register::OutBytes(port) => 3 * ports + usize::from(port),
            Register::QueueBytes(port) => QUEUES + usize::from(port),
            Register::Discards(reason) => QUEUES + ports + reason as usize,
            Register::L3Enable | Register::MplsEnable | Register::MissToCpu => return None,
        })
    }

    /// Whether it sets how the chip behaves.
    pub fn is_switch(self) -> bool {
        matches!(
            self,
            Register::L3Enable | Register::MplsEnable | Register::MissToCpu
        )
    }

    /// Whether a value can be written. Errors: read only, a counter that is not cleared, a switch
    /// that is neither 0 nor 1.
    pub fn check(self, value: u64) -> Result<(), Flaw> {
        if matches!(self, Register::QueueBytes(_)) {
            let fix = "The port fills and empties its queue: read it.";
            return Err(Flaw::new(
                "register-read-only",
                "reg",
                self,
                "a register that can be written",
                fix,
            ));
        }
        let (most, fix) = if self.is_switch() {
            (1, "1 turns it on, 0 off.")
        } else {
            (0, "Counters can be cleared.")
        };
        let limit = if most == 1 { "0 or 1" } else { "0" };
        (value <= most)
            .then_some(())
            .ok_or_else(|| Flaw::new("register-value", "value", value, limit, fix))
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, port) = match *self {
            Register::InPackets(port) => (0, port),
            Register::InBytes(port) => (1, port),
            Register::OutPackets(port) => (2, port),
            Register::OutBytes(port) => (3, port),
            Register::QueueBytes(port) => (4, port),
            Register::Discards(reason) => {
                let name = reason.name().to_uppercase().replace('-', "_");
                return write!(f, "DISCARDS_{name}");
            }
            Register::L3Enable => return f.write_str("L3_ENABLE"),
            Register::MplsEnable => return f.write_str("MPLS_ENABLE"),
            Register::MissToCpu => return f.write_str("MISS_TO_CPU"),
        };
        write!(f, "{}{port}", PORT_KINDS[kind].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_is_found_by_its_name_and_no_other() {
        for register in Register::all() {
            assert_eq!(Register::by_name(&register.to_string()).ok(), Some(register));
        }
        for name in [
            "",
            "IN_PACKETS_PORT",
            "IN_PACKETS_PORT8",
            "IN_PACKETS_PORT00",
            "DISCARDS_",
            "l3_enable",
        ] {
            assert!(Register::by_name(name).is_err(), "{name}");
        }
    }
}

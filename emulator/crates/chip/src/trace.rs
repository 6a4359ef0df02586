//! The path of a packet through the chip, stage by stage. The chip itself runs, and an observer
//! records the steps.

use serde::Serialize;

use crate::action::{Action, Mpls, Tunnel};
use crate::entries::{Place, Table, Vif, hex};
use crate::flaw::Flaw;
use crate::frame::Frame;
use crate::modify::Change;
use crate::parser::{Parsed, Protocol};
use crate::pipeline::{Chip, DiscardReason, Verdict};
use crate::profile::EXTERNAL_PORTS;
use crate::program::Program;
use crate::tables::{Slot, Tables};
use crate::udlk::Key;

/// A stage of the pipeline `[serverswitch Fig. 4]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names of Fig. 4")]
pub enum Stage {
    Classifier,
    EthernetParser,
    IpParser,
    MplsParser,
    ProgParser,
    Tcam,
    EmMac,
    EmIpv4,
    EmMpls,
    Lpm,
    Priority,
    InterfaceTable,
    L3Modifier,
    L2Modifier,
    Output,
    Discard,
}

/// Bytes of a lookup key with the name of the field that they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyPart {
    /// The field, like `B22-25`.
    pub field: String,
    /// Its bytes in hexadecimal digits.
    pub hex: String,
}

/// An entry that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Matched {
    /// Its table and index.
    #[serde(flatten)]
    pub place: Place,
    /// Its value in hexadecimal digits.
    pub value: String,
    /// Its mask in hexadecimal digits; empty for exact matches.
    pub mask: String,
    /// Its action, as a program writes it.
    pub action: String,
}

/// One step of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The stage of the chip.
    pub stage: Stage,
    /// The event, in one sentence.
    pub text: String,
    /// The key looked for, or the fields that a parser read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<KeyPart>,
    /// The entry that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Matched>,
    /// The packet before the change, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The packet after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Bytes that are other after it, by their place in `after`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<usize>,
}

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// The port that it leaves by.
    pub port: u8,
    /// Whether that port goes to the CPU.
    pub cpu: bool,
    /// Whether it is a mirror's copy.
    pub copy: bool,
    /// The bytes in hexadecimal digits.
    pub packet: String,
}

/// The whole path of a packet through a chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The port that it came in by.
    pub in_port: u8,
    /// The bytes that came in, in hexadecimal digits.
    pub packet: String,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// The packets that left, in order.
    pub sent: Vec<Sent>,
    /// The outcome: `sent` or `discarded`.
    pub outcome: &'static str,
    /// Why it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<DiscardReason>,
    /// The outcome in one sentence.
    pub summary: String,
    /// Entries that decided, with their hits since the program was committed.
    pub hits: Vec<Hit>,
}

/// An entry and how many packets it decided about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The position of the entry.
    #[serde(flatten)]
    pub place: Place,
    /// Number of packets.
    pub packets: u64,
}

impl Chip {
    /// Sends a packet through the chip and returns its trace. It counts like any packet. Errors: no
    /// such port, too long a packet.
    pub fn trace(&mut self, in_port: u8, packet: &[u8]) -> Result<Trace, Flaw> {
        let mut frame = Frame::new(packet)?;
        let mut tracer = Tracer::default();
        let verdict = self.process(in_port, &mut frame, &mut |_, _| {}, &mut tracer)?;
        let hits = self
            .hits()
            .into_iter()
            .map(|(place, packets)| Hit { place, packets })
            .collect();
        let (outcome, reason) = match verdict {
            Verdict::Sent => ("sent", None),
            Verdict::Discarded(reason) => ("discarded", Some(reason)),
        };
        let ports: Vec<String> = tracer
            .sent
            .iter()
            .filter(|sent| !sent.copy)
            .map(|sent| name(sent.port))
            .collect();
        let summary = match reason {
            None => format!("Sent out of {}.", ports.join(" and ")),
            Some(reason) => reason.sentence().to_owned(),
        };
        Ok(Trace {
            in_port,
            packet: hex(packet),
            steps: tracer.steps,
            sent: tracer.sent,
            outcome,
            reason,
            summary,
            hits,
        })
    }
}

fn name(port: u8) -> String {
    let kind = if port < EXTERNAL_PORTS { "external" } else { "CPU" };
    format!("port {port} ({kind})")
}

/// Receives the events while a packet passes the chip; does nothing by default.
pub(crate) trait Observer {
    fn parsed(
        &mut self,
        _in_port: u8,
        _packet: &[u8],
        _parsed: &Result<Parsed, DiscardReason>,
        _tables: &Tables,
    ) {
    }
    fn looked_up(&mut self, _: &[Key; 2], _: &Parsed, _: &[Option<Slot>; 3], _: &Tables, _: &Program) {}
    fn chosen(&mut self, _place: &Place, _action: &Action) {}
    fn missed(&mut self) {}
    fn interface(&mut self, _i: u16, _vif: &Vif) {}
    fn before(&mut self, _packet: &[u8]) {}
    fn changed(&mut self, _stage: Stage, _change: Option<Change>, _packet: &[u8]) {}
    fn sent(&mut self, _port: u8, _packet: &[u8], _copy: bool) {}
    fn discarded(&mut self, _reason: DiscardReason) {}
}

/// An observer that records nothing and is compiled away.
pub(crate) struct Silent;

impl Observer for Silent {}

#[derive(Default)]
struct Tracer {
    steps: Vec<Step>,
    sent: Vec<Sent>,
    before: Vec<u8>,
}

impl Tracer {
    fn step(&mut self, stage: Stage, text: impl Into<String>) -> &mut Step {
        self.steps.push(Step {
            stage,
            text: text.into(),
            key: Vec::new(),
            entry: None,
            before: None,
            after: None,
            changed: Vec::new(),
        });
        self.steps.last_mut().expect("just pushed")
    }
}

fn part(field: impl Into<String>, bytes: &[u8]) -> KeyPart {
    KeyPart {
        field: field.into(),
        hex: hex(bytes),
    }
}

impl Observer for Tracer {
    fn parsed(
        &mut self,
        in_port: u8,
        packet: &[u8],
        parsed: &Result<Parsed, DiscardReason>,
        tables: &Tables,
    ) {
        let from = name(in_port);
        let length = packet.len();
        let Ok(parsed) = parsed else {
            self.step(
                Stage::Classifier,
                format!("{length} bytes from {from}, with a header that is refused."),
            );
            return;
        };
        let kind = match parsed.protocol {
            Protocol::Ethernet => "Ethernet",
            Protocol::Ipv4 => "IPv4",
            Protocol::Mpls => "MPLS",
        };
        self.step(Stage::Classifier, format!("{length} bytes from {from}: {kind}."));
        match parsed.protocol {
            Protocol::Ethernet => {
                self.step(Stage::EthernetParser, "Destination MAC.").key = vec![part("DMAC", &parsed.dmac)];
            }
            Protocol::Ipv4 => {
                let text = format!(
                    "Destination {}, TTL {}.",
                    std::net::Ipv4Addr::from_bits(parsed.destination),
                    parsed.ttl
                );
                let key = vec![
                    part("DIP", &parsed.destination.to_be_bytes()),
                    part("TTL", &[parsed.ttl]),
                ];
                self.step(Stage::IpParser, text).key = key;
            }
            Protocol::Mpls => {
                let text = format!("Label {}, TTL {}.", parsed.label, parsed.ttl);
                let key = vec![
                    part("label", &parsed.label.to_be_bytes()[1..]),
                    part("TTL", &[parsed.ttl]),
                ];
                self.step(Stage::MplsParser, text).key = key;
            }
        }
        for i in 0..2 {
            let Some(udlk) = tables.udlk(i) else { continue };
            let bytes = udlk.key(in_port, packet).bytes(udlk.len());
            let mut at = 0;
            let mut key = Vec::new();
            for field in udlk.fields() {
                key.push(part(field.to_string(), &bytes[at..at + field.len()]));
                at += field.len();
            }
            let last = udlk.fields().iter().filter_map(|field| match field {
                crate::udlk::Field::Bytes(_, last) => Some(usize::from(*last)),
                crate::udlk::Field::InPort => None,
            });
            let short = last.max().is_some_and(|last| last >= length);
            let note = if short {
                " Bytes past the packet's end are zero."
            } else {
                ""
            };
            self.step(Stage::ProgParser, format!("UDLK {} is {udlk}.{note}", i + 1))
                .key = key;
        }
    }

    fn looked_up(
        &mut self,
        keys: &[Key; 2],
        parsed: &Parsed,
        found: &[Option<Slot>; 3],
        tables: &Tables,
        program: &Program,
    ) {
        let (exact, stage, key) = match parsed.protocol {
            Protocol::Ethernet => (Table::EmMac, Stage::EmMac, part("DMAC", &parsed.dmac)),
            Protocol::Ipv4 => (
                Table::EmIpv4,
                Stage::EmIpv4,
                part("DIP", &parsed.destination.to_be_bytes()),
            ),
            Protocol::Mpls => (
                Table::EmMpls,
                Stage::EmMpls,
                part("label", &parsed.label.to_be_bytes()[1..]),
            ),
        };
        let mut asked = vec![
            (Table::Tcam, Stage::Tcam, found[0], None),
            (exact, stage, found[1], Some(key.clone())),
        ];
        if parsed.protocol == Protocol::Ipv4 {
            asked.push((Table::LpmIpv4, Stage::Lpm, found[2], Some(key)));
        }
        for (table, stage, slot, key) in asked {
            let Some(slot) = slot else {
                let text = match tables.len(table) {
                    0 => format!("{table} is empty."),
                    1 => format!("{table}: its entry does not match."),
                    entries => format!("{table}: none of {entries} entries matches."),
                };
                self.step(stage, text).key.extend(key);
                continue;
            };
            let place = tables.place(slot);
            let entry = &program.table(table)[&place.i];
            let parts = key.unwrap_or_else(|| {
                let bytes = keys[usize::from(entry.iudlk) - 1].bytes(entry.value.len());
                part(format!("UDLK {}", entry.iudlk), &bytes)
            });
            let step = self.step(stage, format!("{place} matches."));
            step.key.push(parts);
            step.entry = Some(Matched {
                place,
                value: hex(&entry.value),
                mask: hex(&entry.mask),
                action: entry.action.to_string(),
            });
        }
    }

    fn chosen(&mut self, place: &Place, action: &Action) {
        self.step(Stage::Priority, format!("{place} decides: {action}."));
    }

    fn interface(&mut self, i: u16, vif: &Vif) {
        let mac = |mac: Option<crate::entries::Mac>| mac.map_or("kept".to_owned(), |mac| mac.to_string());
        let text = format!(
            "Interface {i}: {}, destination MAC {}, source MAC {}.",
            name(vif.port),
            mac(vif.dmac),
            mac(vif.smac)
        );
        self.step(Stage::InterfaceTable, text);
    }

    fn before(&mut self, packet: &[u8]) {
        self.before = packet.to_vec();
    }

    fn changed(&mut self, stage: Stage, change: Option<Change>, packet: &[u8]) {
        let text = match change {
            None => "MACs of the interface.".to_owned(),
            Some(Change::Ttl) => "TTL down by one.".to_owned(),
            Some(Change::Dscp(dscp)) => format!("DSCP set to {dscp}."),
            Some(Change::CountUp(at)) => format!("B{at} up by one."),
            Some(Change::Labels(Mpls::Push(label))) => format!("Label {label} pushed."),
            Some(Change::Labels(Mpls::Pop)) => "Outermost label popped.".to_owned(),
            Some(Change::Labels(Mpls::Swap(label))) => format!("Outermost label swapped for {label}."),
            Some(Change::Tunnel(Tunnel::Push(source, destination))) => {
                format!("Outer IPv4 header pushed, {source} to {destination}.")
            }
            Some(Change::Tunnel(Tunnel::Pop)) => "Outer IPv4 header popped.".to_owned(),
        };
        let before = std::mem::take(&mut self.before);
        let step = self.step(stage, text);
        step.changed = changed(&before, packet);
        step.before = Some(hex(&before));
        step.after = Some(hex(packet));
    }

    fn sent(&mut self, port: u8, packet: &[u8], copy: bool) {
        let what = if copy { "A copy leaves" } else { "Leaves" };
        self.step(
            Stage::Output,
            format!("{what} by {}, {} bytes.", name(port), packet.len()),
        );
        self.sent.push(Sent {
            port,
            cpu: port >= EXTERNAL_PORTS,
            copy,
            packet: hex(packet),
        });
    }

    fn discarded(&mut self, reason: DiscardReason) {
        self.step(Stage::Discard, reason.sentence());
    }
}

/// The positions of bytes of `after` that differ; for inserted or removed bytes, the range between
/// the common start and end.
fn changed(before: &[u8], after: &[u8]) -> Vec<usize> {
    if before.len() == after.len() {
        return (0..after.len()).filter(|&at| before[at] != after[at]).collect();
    }
    let shorter = before.len().min(after.len());
    let head = (0..shorter).take_while(|&at| before[at] == after[at]).count();
    let same_from_end = |&back: &usize| before[before.len() - back] == after[after.len() - back];
    let tail = (1..=shorter - head).take_while(same_from_end).count();
    (head..after.len() - tail).collect()
}

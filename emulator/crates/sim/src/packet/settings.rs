//! The settings of a simulation, with limits and units. Every run prints the settings that it used.

use cubeyard_topology::{Finding, number_text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::links::Header;

/// How data is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// With windows and acknowledgements.
    #[default]
    Tcp,
    /// UDP at a constant or random rate.
    Udp,
}

/// TCP's reaction to a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryName {
    /// NewReno, RFC 6582.
    #[default]
    NewReno,
    /// Reno, RFC 2581.
    Reno,
    /// Tahoe: no fast recovery.
    Tahoe,
    /// Selective acknowledgements, RFC 6675.
    Sack,
}

/// The growth of TCP's window without losses, and the reduction after one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionName {
    /// Grows by a packet each round trip; halves. RFC 5681.
    #[default]
    Reno,
    /// Grows by the time since the last loss; shrinks to 70 %. RFC 9438.
    Cubic,
}

/// How the windows of a connection's subflows grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CouplingName {
    /// Each on its own.
    #[default]
    Uncoupled,
    /// Linked increases, RFC 6356.
    Lia,
}

/// TCP's reaction to a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkResponse {
    /// Half the window, RFC 3168.
    #[default]
    Halve,
    /// By the share of marked packets, RFC 8257.
    Dctcp,
}

/// Gaps between the packets of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UdpGaps {
    /// All gaps are equal.
    #[default]
    Constant,
    /// Drawn: a Poisson process.
    Exponential,
}

/// The input of the hash that chooses a flow's path, or a link of a trunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathHash {
    /// Its own number: connections of one pair of servers spread over paths, and over the links of
    /// a trunk.
    #[default]
    Connection,
    /// Its two servers: connections of one pair stay together, as with a LAG that hashes addresses
    /// only.
    Addresses,
}

/// Whether queues notify sources of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticesName {
    /// No notifications.
    #[default]
    None,
    /// By quantized congestion notification, IEEE 802.1Qau.
    Qcn,
}

/// The settings of a simulation; omitted ones have their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How data is sent.
    pub transport: TransportName,
    /// TCP's reaction to a loss.
    pub recovery: RecoveryName,
    /// The growth of its window, and the reduction after a loss.
    pub congestion: CongestionName,
    /// Subflows per connection (MPTCP), each on a separate path.
    pub subflows: u64,
    /// The input of the hash that chooses the path.
    pub path_hash: PathHash,
    /// How their windows grow.
    pub coupling: CouplingName,
    /// A full packet with its IP and TCP headers.
    pub mtu_bytes: u64,
    /// IP and TCP headers; an acknowledgement is nothing else.
    pub header_bytes: u64,
    /// Bytes that the line adds to a packet: 38 for Ethernet with preamble and gap.
    pub framing_bytes: u64,
    /// Window at the start, in packets.
    pub initial_window: u64,
    /// The most packets of a subflow on the way, a power of two; by default derived from the path's
    /// capacity.
    pub max_window: Option<u64>,
    /// The shortest retransmission timeout.
    pub rto_min_secs: f64,
    /// The longest retransmission timeout.
    pub rto_max_secs: f64,
    /// How long an acknowledgement waits for a second packet; 0: each packet is acknowledged.
    pub delayed_ack_secs: f64,
    /// Size of the queue at a link's end; if omitted, the rate times the idle round trip.
    pub queue_bytes: Option<u64>,
    /// Waiting bytes above which packets are marked (ECN); none are when left out.
    pub ecn_threshold_bytes: Option<u64>,
    /// TCP's reaction to a mark.
    pub mark_response: MarkResponse,
    /// Whether queues send notices of congestion, which limit the rates of sources.
    pub congestion_notices: NoticesName,
    /// QCN: the queue that is aimed at (`Q_EQ`).
    pub qcn_queue_bytes: u64,
    /// QCN: weight of a queue's growth relative to its length (`w`).
    pub qcn_weight: f64,
    /// QCN: bytes between samples while there is no congestion.
    pub qcn_sample_bytes: u64,
    /// QCN: the share of a rate that a step of feedback, of 63, takes (`G_d`).
    pub qcn_gain: f64,
    /// QCN: bytes of a source's cycle.
    pub qcn_cycle_bytes: u64,
    /// QCN: cycles of fast recovery.
    pub qcn_recovery_cycles: u64,
    /// QCN: a source's cycle in time.
    pub qcn_timer_secs: f64,
    /// QCN: the increase of a rate's target per cycle after fast recovery (`R_AI`).
    pub qcn_increase_gbps: f64,
    /// QCN: the same, times the cycles since, when bytes and time are both beyond fast recovery
    /// (`R_HAI`).
    pub qcn_hyper_increase_gbps: f64,
    /// QCN: the lowest rate of a source.
    pub qcn_least_gbps: f64,
    /// From a packet's last bit to its arrival at the next node.
    pub hop_delay_secs: f64,
    /// Processor time of a packet at a server that relays it; 0: relaying takes none.
    pub relay_secs: f64,
    /// Packets that wait for a server's processor at most.
    pub relay_queue_packets: u64,
    /// Flows start within this time, each at its own drawn moment.
    pub start_jitter_secs: f64,
    /// The rate of a UDP flow; if omitted, the rate of its first link.
    pub udp_gbps: Option<f64>,
    /// Gaps between packets of UDP.
    pub udp_gaps: UdpGaps,
    /// Delay until routing detects a fault with loss of carrier.
    pub carrier_detection_secs: f64,
    /// Delay until routing detects a silent fault.
    pub silent_detection_secs: f64,
    /// Subways' controllers: from one rebinding to the next (`T_rebind`); 0: their settled weights
    /// from the start.
    pub rebind_secs: f64,
    /// The end, even if flows have not ended.
    pub until_secs: f64,
    /// The directed link whose queue is recorded, as `from/to`; the one that most flows cross when
    /// left out.
    pub watch_link: Option<String>,
    /// The flow whose window is recorded, by its number.
    pub watch_flow: Option<u64>,
    /// Whether to give each flow's times.
    pub flow_times: bool,
    /// Whether to record the load of links over time. Default: true, except in sweeps.
    pub link_heat: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            transport: TransportName::Tcp,
            recovery: RecoveryName::NewReno,
            congestion: CongestionName::Reno,
            subflows: 1,
            path_hash: PathHash::Connection,
            coupling: CouplingName::Uncoupled,
            mtu_bytes: 1500,
            header_bytes: 40,
            framing_bytes: 0,
            initial_window: 10,
            max_window: None,
            rto_min_secs: 0.2,
            rto_max_secs: 60.0,
            delayed_ack_secs: 0.0,
            queue_bytes: None,
            ecn_threshold_bytes: None,
            mark_response: MarkResponse::Halve,
            congestion_notices: NoticesName::None,
            // [serverswitch §6.3]
            qcn_queue_bytes: 50_000,
            // IEEE 802.1Qau, tables 31-2 to 31-4; the weight and the gain as in [serverswitch]'s
            // [7].
            qcn_weight: 2.0,
            qcn_sample_bytes: 150_000,
            qcn_gain: 1.0 / 128.0,
            qcn_cycle_bytes: 150_000,
            qcn_recovery_cycles: 5,
            qcn_timer_secs: 0.015,
            qcn_increase_gbps: 0.005,
            qcn_hyper_increase_gbps: 0.05,
            qcn_least_gbps: 0.01,
            // [subways §8.1]
            hop_delay_secs: 60e-6,
            relay_secs: 0.0,
            relay_queue_packets: 1000,
            start_jitter_secs: 100e-6,
            udp_gbps: None,
            udp_gaps: UdpGaps::Constant,
            carrier_detection_secs: 0.01,
            silent_detection_secs: 0.15,
            // [subways §8.1]
            rebind_secs: 0.01,
            until_secs: 10_000.0,
            watch_link: None,
            watch_flow: None,
            flow_times: false,
            link_heat: true,
        }
    }
}

/// A setting for people and forms.
struct Described {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    limits: (f64, f64),
    whole: bool,
}

const fn number(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    limits: (f64, f64),
) -> Described {
    Described {
        name,
        title,
        unit,
        limits,
        whole: false,
    }
}

const fn secs(name: &'static str, title: &'static str, limits: (f64, f64)) -> Described {
    number(name, title, "s", limits)
}

const fn whole(name: &'static str, title: &'static str, unit: &'static str, limits: (f64, f64)) -> Described {
    Described {
        whole: true,
        ..number(name, title, unit, limits)
    }
}

/// The settings that are numbers.
const NUMBERS: &[Described] = &[
    whole("subflows", "Subflows per connection", "", (1.0, 16.0)),
    whole("mtu_bytes", "MTU", "B", (128.0, 16_000.0)),
    whole("header_bytes", "IP and TCP headers", "B", (20.0, 120.0)),
    whole("framing_bytes", "Framing", "B", (0.0, 200.0)),
    whole("initial_window", "Initial window", "packets", (1.0, 64.0)),
    whole("max_window", "Largest window", "packets", (64.0, 16_384.0)),
    secs("rto_min_secs", "Minimum retransmission timeout", (1e-6, 60.0)),
    secs("rto_max_secs", "Maximum retransmission timeout", (1e-3, 3600.0)),
    secs("delayed_ack_secs", "Delayed acknowledgement", (0.0, 1.0)),
    whole("queue_bytes", "Queue", "B", (0.0, 1e10)),
    whole("ecn_threshold_bytes", "ECN threshold", "B", (0.0, 1e10)),
    whole("qcn_queue_bytes", "QCN: queue aimed at (Q_EQ)", "B", (1e3, 1e9)),
    number("qcn_weight", "QCN: weight of the queue's growth", "", (0.0, 64.0)),
    whole(
        "qcn_sample_bytes",
        "QCN: between samples of an idle queue",
        "B",
        (1e3, 1e9),
    ),
    number("qcn_gain", "QCN: gain of feedback", "", (1e-5, 0.5)),
    whole("qcn_cycle_bytes", "QCN: cycle of a source", "B", (1e3, 1e9)),
    whole(
        "qcn_recovery_cycles",
        "QCN: cycles of fast recovery",
        "",
        (1.0, 100.0),
    ),
    secs("qcn_timer_secs", "QCN: cycle in time", (1e-6, 10.0)),
    number(
        "qcn_increase_gbps",
        "QCN: increase per cycle",
        "Gb/s",
        (1e-6, 1e3),
    ),
    number(
        "qcn_hyper_increase_gbps",
        "QCN: hyper-active increase",
        "Gb/s",
        (1e-6, 1e3),
    ),
    number("qcn_least_gbps", "QCN: lowest rate", "Gb/s", (1e-6, 1e3)),
    secs("hop_delay_secs", "Delay per hop", (1e-9, 10.0)),
    secs("relay_secs", "Processor time per relayed packet", (0.0, 0.1)),
    whole(
        "relay_queue_packets",
        "Packets waiting for a processor",
        "packets",
        (0.0, 1e6),
    ),
    secs("start_jitter_secs", "Start jitter", (0.0, 1000.0)),
    number("udp_gbps", "UDP rate per flow", "Gb/s", (1e-6, 1e5)),
    secs("carrier_detection_secs", "Detection by carrier", (0.0, 1000.0)),
    secs(
        "silent_detection_secs",
        "Detection without carrier",
        (0.0, 1000.0),
    ),
    secs(
        "rebind_secs",
        "Load balancing: time between rebindings",
        (0.0, 1000.0),
    ),
    secs("until_secs", "Longest simulated time", (1e-6, 1e6)),
];

impl Settings {
    /// Bytes of a packet on the line in addition to its payload.
    pub fn overhead_bytes(&self) -> u64 {
        self.header_bytes + self.framing_bytes
    }

    /// Payload of a full packet, in bytes.
    pub fn payload_bytes(&self) -> u64 {
        self.mtu_bytes.saturating_sub(self.header_bytes)
    }

    /// The first setting that is incompatible with CUBIC, if any.
    fn not_with_cubic(&self) -> Option<&'static str> {
        if self.congestion != CongestionName::Cubic {
            None
        } else if self.coupling == CouplingName::Lia {
            Some("coupling lia")
        } else if self.mark_response == MarkResponse::Dctcp {
            Some("mark_response dctcp")
        } else {
            None
        }
    }

    /// The findings for settings out of their limits.
    pub fn check(&self) -> Vec<Finding> {
        let document = json!(self);
        let mut findings: Vec<Finding> = NUMBERS
            .iter()
            .filter_map(|setting| {
                let value = document.get(setting.name)?.as_f64()?;
                let (least, most) = setting.limits;
                (!(least..=most).contains(&value)).then(|| out_of_range(setting, value))
            })
            .collect();
        if self.mtu_bytes + self.framing_bytes > u64::from(Header::MAX_BYTES)
            || self.mtu_bytes < self.header_bytes + 1
        {
            findings.push(
                Finding::error(
                    "packet-size",
                    "packet.mtu_bytes",
                    format!(
                        "mtu_bytes is {} with {} bytes of headers and {} of framing: a packet must have at least a byte of payload, and at most {} in all.",
                        self.mtu_bytes, self.header_bytes, self.framing_bytes, Header::MAX_BYTES
                    ),
                    "Give an MTU like 1500 or 9000.",
                )
                .with_value(self.mtu_bytes)
                .with_limit(Header::MAX_BYTES),
            );
        }
        if self.rto_min_secs > self.rto_max_secs {
            findings.push(
                Finding::error(
                    "rto-order",
                    "packet.rto_min_secs",
                    format!(
                        "rto_min_secs is {}; it must be at most rto_max_secs.",
                        self.rto_min_secs
                    ),
                    "Lower it, or raise rto_max_secs.",
                )
                .with_value(self.rto_min_secs)
                .with_limit(self.rto_max_secs),
            );
        }
        if let Some(name) = self.not_with_cubic() {
            findings.push(
                Finding::error(
                    "congestion-conflict",
                    "packet.congestion",
                    format!("congestion is cubic and {name}: {name} sets the window by rules of its own."),
                    "Choose congestion reno, or leave the other out.",
                )
                .with_value("cubic")
                .with_limit("reno"),
            );
        }
        if let Some(window) = self.max_window.filter(|window| !window.is_power_of_two()) {
            findings.push(
                Finding::error(
                    "window-size",
                    "packet.max_window",
                    format!("max_window is {window}; it must be a power of two."),
                    format!("Give {}, or leave it out.", window.next_power_of_two()),
                )
                .with_value(window),
            );
        }
        findings
    }
}

fn out_of_range(setting: &Described, value: f64) -> Finding {
    let (least, most) = setting.limits;
    let unit = if setting.unit.is_empty() { "" } else { " " };
    let limits = format!(
        "{} to {}{unit}{}",
        number_text(least),
        number_text(most),
        setting.unit
    );
    Finding::error(
        "out-of-range",
        format!("packet.{}", setting.name),
        format!("{} is {}; it must be {limits}.", setting.name, number_text(value)),
        "Give a number in these limits, or leave it out for its default.",
    )
    .with_value(value)
    .with_limit(limits)
}

/// The settings for forms: `[{name, title, unit, minimum, maximum, default, whole}]` of numbers,
/// and `[{name, title, choices, default}]` of the others. A default of null is worked out from the
/// network.
pub fn settings_json() -> Value {
    let defaults = json!(Settings::default());
    let choices = [
        ("transport", "Transport", json!(["tcp", "udp"])),
        (
            "recovery",
            "Loss recovery",
            json!(["new-reno", "sack", "reno", "tahoe"]),
        ),
        ("congestion", "Congestion control", json!(["reno", "cubic"])),
        ("coupling", "Subflow windows", json!(["uncoupled", "lia"])),
        (
            "path_hash",
            "ECMP and LAG hash",
            json!(["connection", "addresses"]),
        ),
        ("mark_response", "Response to ECN", json!(["halve", "dctcp"])),
        ("udp_gaps", "UDP gaps", json!(["constant", "exponential"])),
        (
            "congestion_notices",
            "Congestion notification",
            json!(["none", "qcn"]),
        ),
    ];
    let choices = choices.into_iter().map(|(name, title, choices)| {
        json!({"name": name, "title": title, "choices": choices, "default": defaults[name]})
    });
    let numbers = NUMBERS.iter().map(|setting| {
        json!({
            "name": setting.name, "title": setting.title, "unit": setting.unit, "minimum": setting.limits.0,
            "maximum": setting.limits.1, "default": defaults[setting.name], "whole": setting.whole,
        })
    });
    Value::Array(choices.chain(numbers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_described_and_has_a_default_in_its_limits() {
        assert!(Settings::default().check().is_empty());
        let document = json!(Settings::default());
        let fields = document.as_object().expect("a struct");
        let described: Vec<&str> = settings_json()
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|item| fields.keys().find(|name| item["name"] == **name).map(|_| ""))
            .collect();
        // All settings except watched and listed items appear in the form.
        assert_eq!(described.len(), fields.len() - 4);
    }

    #[test]
    fn rates_and_delays_of_zero_are_refused_by_name() {
        for name in [
            "hop_delay_secs",
            "udp_gbps",
            "rto_min_secs",
            "until_secs",
            "mtu_bytes",
            "subflows",
        ] {
            let settings: Settings = serde_json::from_value(json!({ name: 0 })).expect("readable");
            let findings = settings.check();
            assert_eq!(findings[0].field, format!("packet.{name}"), "{findings:?}");
            assert!(findings[0].limit.is_some() && !findings[0].hint.is_empty());
        }
    }
}

//! Shaping, like `tc qdisc` and `tc class`, and the counters of queues.
//!
//! Each end of a link sends through HTB with one class and a FIFO limited in bytes. HTB sends a
//! super-packet whole and then waits until the rate allows it: accurate to one per cent, and seven
//! times cheaper than segmenting it first. `[ours, measured]` Fair queues add a class for each flow
//! or service below that class (`fair`). Loss is drawn by a classifier (`loss`).

mod fair;
mod loss;

use std::os::fd::{AsRawFd, BorrowedFd};

use super::message::{Answer, Attributes, Batch, CREATE, DUMP, EXCLUSIVE, REPLACE, attributes};

pub use fair::{Classes, Sharers};
pub use loss::lose;

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const RTM_NEWTCLASS: u16 = 40;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_BPF_OPS_LEN: u16 = 4;
const TCA_BPF_OPS: u16 = 5;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const DIRECT_ACTION: u32 = 1;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;

const AT_ROOT: u32 = u32::MAX;
const AT_INGRESS: u32 = 0xffff_fff1;
const CLSACT: u32 = 0xffff_0000;
const HTB: u32 = 0x1_0000;
const CLASS: u32 = 0x1_0001;
const FIFO: u32 = 0x10_0000;
/// Handle of netem. It differs from the FIFO's: with the same handle the kernel would change the
/// queue instead of replacing it.
const NETEM: u32 = 0x11_0000;
/// Priorities of a shaper's classifiers: loss comes first, and packets that are not lost still get
/// their class.
const LOSS_PRIORITY: u32 = 1;
const CLASS_PRIORITY: u32 = 2;
/// The kernel's scheduler counts time in 64 ns.
const NANOS_A_TICK: f64 = 64.0;
/// Bursts compensate for timers that fire up to this late.
const TIMER_SLACK_SECS: f64 = 0.001;

/// How one end of a link sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Classes of flows or services; `None` for a single queue.
    pub classes: Option<Classes>,
    /// Bits per second, including Ethernet headers.
    pub rate_bits_per_sec: f64,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Bytes that may wait in the queue.
    pub queue_bytes: u32,
}

fn queue_header(index: u32, handle: u32, parent: u32) -> [u8; 20] {
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&handle.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    header
}

/// The header of a classifier for all protocols. A classifier with a lower priority number comes
/// first.
fn filter_header(index: u32, handle: u32, parent: u32, priority: u32) -> [u8; 20] {
    let mut header = queue_header(index, handle, parent);
    let all_protocols = u32::from(3_u16.to_be());
    header[16..20].copy_from_slice(&(priority << 16 | all_protocols).to_ne_bytes());
    header
}

/// A queueing discipline: its handle, its parent and its kind.
struct Discipline<'a> {
    handle: u32,
    parent: u32,
    kind: &'a str,
}

impl Discipline<'_> {
    /// Makes the discipline on an interface, with the attributes that `settings` adds.
    fn make(
        &self,
        batch: &mut Batch,
        index: u32,
        flags: u16,
        purpose: &str,
        settings: impl FnOnce(&mut Attributes<'_>),
    ) {
        batch.request(
            RTM_NEWQDISC,
            flags,
            &queue_header(index, self.handle, self.parent),
            format!("{purpose} interface {index}"),
            |attributes| {
                attributes.put_text(TCA_KIND, self.kind);
                settings(attributes);
            },
        );
    }
}

/// Adds HTB's settings: version 3, rate-to-quantum ratio 10, the class of packets that no
/// classifier assigns.
fn put_htb(attributes: &mut Attributes<'_>, default_minor: u32) {
    attributes.nest(TCA_OPTIONS, |options| {
        options.put(TCA_HTB_INIT, &words(&[3, 10, default_minor, 0, 0]));
    });
}

/// Adds a shaper to an interface that has none.
pub fn shape(batch: &mut Batch, index: u32, shape: &Shape) {
    let shaper = Discipline {
        handle: HTB,
        parent: AT_ROOT,
        kind: "htb",
    };
    let default_minor = shape.classes.map_or(CLASS & 0xffff, |_| fair::COMMON_MINOR);
    shaper.make(batch, index, CREATE | EXCLUSIVE, "shaping", |attributes| {
        put_htb(attributes, default_minor);
    });
    class(batch, index, shape, CREATE | EXCLUSIVE);
    match shape.classes {
        Some(classes) => fair::add(batch, index, shape, classes),
        None => leaf_fifo(batch, index, CLASS, shape.queue_bytes, CREATE | EXCLUSIVE),
    }
}

/// Changes the rate of a shaped interface. Its queue keeps its packets.
pub fn set_rate(batch: &mut Batch, index: u32, shape: &Shape) {
    class(batch, index, shape, CREATE | REPLACE);
}

/// Reverts [`cut`] or [`delay`].
pub fn restore(batch: &mut Batch, index: u32, shape: &Shape) {
    leaf_fifo(batch, index, leaf_of(shape), shape.queue_bytes, CREATE | REPLACE);
    if let Some(classes) = shape.classes {
        fair::classify(batch, index, classes.own);
    }
}

/// Makes an end drop and count every packet.
pub fn cut(batch: &mut Batch, index: u32, shape: &Shape) {
    take_all(batch, index, shape);
    leaf_fifo(batch, index, leaf_of(shape), 0, CREATE | REPLACE);
}

/// Replaces the leaf queue by `netem`, which the kernel must have: each packet is delayed, and at
/// most `queue_packets` wait.
pub fn delay(batch: &mut Batch, index: u32, shape: &Shape, delay_secs: f64, queue_packets: u32) {
    take_all(batch, index, shape);
    let leaf = Discipline {
        handle: NETEM,
        parent: leaf_of(shape),
        kind: "netem",
    };
    leaf.make(batch, index, CREATE | REPLACE, "delaying", |attributes| {
        put_netem(attributes, ticks(delay_secs), queue_packets);
    });
}

/// The class whose leaf queue a fault replaces.
fn leaf_of(shape: &Shape) -> u32 {
    shape.classes.map_or(CLASS, |_| fair::COMMON)
}

/// Sends every packet to that class.
fn take_all(batch: &mut Batch, index: u32, shape: &Shape) {
    if let Some(classes) = shape.classes {
        fair::classify(batch, index, classes.common);
    }
}

/// Adds netem's settings: latency in ticks, limit in packets; then loss, gap, duplicate and jitter.
fn put_netem(attributes: &mut Attributes<'_>, latency_ticks: u32, limit_packets: u32) {
    attributes.put(TCA_OPTIONS, &words(&[latency_ticks, limit_packets, 0, 0, 0, 0]));
}

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// At arriving packets of an interface.
    Ingress,
    /// At departing packets of an interface.
    Egress,
}

/// Attaches a classifier to an interface that has none. The program must stay open until the batch
/// has run.
///
/// Over netlink, not as a BPF link: attaching a link waits for all processors, 16 ms per program;
/// this takes microseconds. `[ours, measured]`
pub fn attach_program(batch: &mut Batch, index: u32, program: BorrowedFd<'_>, hook: Hook) {
    let hooks = Discipline {
        handle: CLSACT,
        parent: AT_INGRESS,
        kind: "clsact",
    };
    hooks.make(
        batch,
        index,
        CREATE | EXCLUSIVE,
        "preparing for a program",
        |_| {},
    );
    add_program(batch, index, program, hook);
}

/// Attaches a program to an interface that has one at its other hook.
pub fn add_program(batch: &mut Batch, index: u32, program: BorrowedFd<'_>, hook: Hook) {
    let minor = match hook {
        Hook::Ingress => 0xfff2,
        Hook::Egress => 0xfff3,
    };
    let header = filter_header(index, 0, CLSACT | minor, 1);
    let purpose = format!("attaching a program to interface {index}");
    batch.request(
        RTM_NEWTFILTER,
        CREATE | EXCLUSIVE,
        &header,
        purpose,
        |attributes| {
            attributes.put_text(TCA_KIND, "bpf");
            attributes.nest(TCA_OPTIONS, |options| {
                options.put_u32(TCA_BPF_FD, program.as_raw_fd() as u32);
                options.put_text(TCA_BPF_NAME, "cubeyard");
                options.put_u32(TCA_BPF_FLAGS, DIRECT_ACTION);
            });
        },
    );
}

/// Requests a root queue of this kind on an interface, as a test whether the kernel supports it.
pub fn leaf_kind_probe(batch: &mut Batch, index: u32, kind: &str) {
    let root = Discipline {
        handle: HTB,
        parent: AT_ROOT,
        kind,
    };
    let purpose = format!("trying the queueing discipline {kind} on");
    root.make(
        batch,
        index,
        CREATE | REPLACE,
        &purpose,
        |attributes| match kind {
            "htb" => put_htb(attributes, CLASS & 0xffff),
            "netem" => put_netem(attributes, 0, 1000),
            _ => {}
        },
    );
}

/// Scheduling of a class among its siblings: bytes per turn, and its priority; the lowest goes
/// first.
#[derive(Clone, Copy, Debug)]
struct Turns {
    bytes: u32,
    priority: u32,
}

/// Adds the class with the end's rate.
fn class(batch: &mut Batch, index: u32, shape: &Shape, flags: u16) {
    let turns = Turns {
        bytes: two_packets(shape.mtu),
        priority: 0,
    };
    let bytes_per_sec = shape.rate_bits_per_sec / 8.0;
    put_class(batch, index, HTB, CLASS, bytes_per_sec, shape, turns, flags);
}

/// Bytes of two packets of a link, at least of two ordinary Ethernet packets.
pub fn two_packets(mtu: u32) -> u32 {
    2 * mtu.max(1500)
}

/// Adds a class with `bytes_per_sec` guaranteed, which borrows from its parent up to the rate of
/// the end.
#[allow(clippy::too_many_arguments, reason = "all of them are the class's")]
fn put_class(
    batch: &mut Batch,
    index: u32,
    parent: u32,
    class: u32,
    bytes_per_sec: f64,
    shape: &Shape,
    turns: Turns,
    flags: u16,
) {
    let ceiling_bytes_per_sec = shape.rate_bits_per_sec / 8.0;
    let burst_bytes = (ceiling_bytes_per_sec * TIMER_SLACK_SECS).max(2.0 * f64::from(shape.mtu));
    let [burst_ticks, ceiling_burst_ticks] =
        [bytes_per_sec, ceiling_bytes_per_sec].map(|rate| ticks(burst_bytes / rate));
    let mut parameters = Vec::with_capacity(44);
    for rate in [bytes_per_sec, ceiling_bytes_per_sec] {
        // cell log, Ethernet (which needs no rate table), overhead, cell alignment, smallest packet
        parameters.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        parameters.extend_from_slice(&(rate.min(f64::from(u32::MAX)) as u32).to_ne_bytes());
    }
    // burst, ceiling's burst, quantum, level, priority
    let Turns { bytes, priority } = turns;
    parameters.extend_from_slice(&words(&[burst_ticks, ceiling_burst_ticks, bytes, 0, priority]));
    let purpose = format!("setting the rate of interface {index}");
    let header = queue_header(index, class, parent);
    batch.request(RTM_NEWTCLASS, flags, &header, purpose, |attributes| {
        attributes.put_text(TCA_KIND, "htb");
        attributes.nest(TCA_OPTIONS, |options| {
            options.put(TCA_HTB_PARMS, &parameters);
            for (attribute, rate) in [
                (TCA_HTB_RATE64, bytes_per_sec),
                (TCA_HTB_CEIL64, ceiling_bytes_per_sec),
            ] {
                if rate > f64::from(u32::MAX) {
                    options.put(attribute, &(rate as u64).to_ne_bytes());
                }
            }
        });
    });
}

fn leaf_fifo(batch: &mut Batch, index: u32, parent: u32, queue_bytes: u32, flags: u16) {
    let leaf = Discipline {
        handle: FIFO,
        parent,
        kind: "bfifo",
    };
    leaf.make(batch, index, flags, "setting the queue of", |attributes| {
        attributes.put(TCA_OPTIONS, &words(&[queue_bytes]));
    });
}

fn ticks(secs: f64) -> u32 {
    (secs * 1e9 / NANOS_A_TICK).clamp(1.0, f64::from(u32::MAX)) as u32
}

fn words(fields: &[u32]) -> Vec<u8> {
    fields.iter().flat_map(|field| field.to_ne_bytes()).collect()
}

/// Requests the counters of all queues of the namespace.
pub fn queue_dump() -> Batch {
    let mut batch = Batch::new();
    batch.request(
        RTM_GETQDISC,
        DUMP,
        &queue_header(0, 0, 0),
        "reading the queues",
        |_| {},
    );
    batch
}

/// Counters of a link's sending end since its shaper was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Number of the interface.
    pub index: u32,
    /// Bytes sent, including Ethernet headers; each segment of a super-packet counts with its own
    /// header.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped by a full queue or by a fault.
    pub drops: u64,
    /// Bytes waiting now.
    pub queue_bytes: u64,
}

/// Reads an answer to [`queue_dump`]; `None` for a queue that is not an end's shaper. The shaper's
/// counters include its classes, queues and classifiers, and survive the replacement of queues.
pub fn read_queue_stats(answer: Answer<'_>) -> Option<QueueStats> {
    let word = |from: usize| Some(u32::from_ne_bytes(*answer.body.get(from..)?.first_chunk()?));
    if answer.kind != RTM_NEWQDISC || word(12)? != AT_ROOT {
        return None;
    }
    let stats = attributes(answer.attributes(20).find_value(TCA_STATS2)?);
    let (basic, queue) = (
        stats.find_value(TCA_STATS_BASIC)?,
        stats.find_value(TCA_STATS_QUEUE)?,
    );
    let of =
        |bytes: &[u8], from: usize| Some(u64::from(u32::from_ne_bytes(*bytes.get(from..)?.first_chunk()?)));
    Some(QueueStats {
        index: word(4)?,
        bytes: u64::from_ne_bytes(*basic.first_chunk()?),
        packets: of(basic, 8)?,
        queue_bytes: of(queue, 4)?,
        drops: of(queue, 8)?,
    })
}

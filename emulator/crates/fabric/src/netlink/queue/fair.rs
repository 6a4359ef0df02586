//! Fair queues at an end of a link: a class of the shaper for each of some flows, or for each
//! service, which send in turn.
//!
//! The kernel's `fq` and `fq_codel` would do it too, but many kernels lack them. This needs only
//! HTB, which shaping needs anyway. `[ours]`

use std::os::fd::RawFd;

use super::{
    CLASS, CLASS_PRIORITY, CREATE, DIRECT_ACTION, Discipline, EXCLUSIVE, HTB, REPLACE, RTM_NEWTFILTER, Shape,
    TCA_BPF_FD, TCA_BPF_FLAGS, TCA_BPF_NAME, TCA_KIND, TCA_OPTIONS, Turns, filter_header, put_class,
};
use crate::netlink::message::Batch;

/// Queues of an end, and the class of the first one; `emulator/bpf/fair/fair.bpf.c` has the same
/// numbers.
pub const QUEUES: u32 = 64;
/// As many as there are services: the four that every server has, and four that users wrote.
const SERVICE_QUEUES: u32 = 8;
const FIRST_QUEUE: u32 = 2;
/// The class of all packets while a fault controls the queue. It also gets packets without a
/// classifier's verdict.
pub const COMMON_MINOR: u32 = 0x100;
pub const COMMON: u32 = HTB | COMMON_MINOR;
/// The class of control messages where services have classes: they go first. `[camcube §5]`
const CONTROL: u32 = HTB | 0x101;
const FIRST: u32 = 0;
const AFTERWARDS: u32 = 1;
const CLASSIFIER: u32 = 1;
const TCA_BPF_CLASSID: u16 = 3;
/// The part of an end's queue that one flow may fill, and the least bytes of it: two super-packets.
const SHARE: u32 = 8;
const LEAST_BYTES: u32 = 131_072;
/// Guaranteed rate of a class, in bytes a second: close to zero, so that it borrows its rate from
/// its parent.
const OWN_BYTES_PER_SEC: f64 = 125.0;

/// The parties that share an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharers {
    /// Each flow has its turn, up to [`QUEUES`] of them.
    Flows,
    /// Each service has its turn, and so have applications' packets together.
    Services,
}

/// Classes of an end's shaper, with the programs that classify packets, which live as long as this
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Who has a class.
    pub sharers: Sharers,
    /// Assigns each packet to the queue of its sharer.
    pub own: RawFd,
    /// Assigns all packets to the common queue.
    pub common: RawFd,
    /// Bytes that a class sends in its turn.
    pub turn_bytes: u32,
}

/// Adds the classes below the one that has the rate, their queues, and the classifier.
pub(super) fn add(batch: &mut Batch, index: u32, shape: &Shape, classes: Classes) {
    let (many, queue_bytes) = match classes.sharers {
        Sharers::Flows => (QUEUES, Some((shape.queue_bytes / SHARE).max(LEAST_BYTES))),
        // Servers send of services what their sockets have room for, a few turns, and few control
        // messages. The queue that a class has by itself, of 1,000 packets, takes both: it needs no
        // request, and the kernel leaves it out when it lists queues, which happens ten times a
        // second.
        Sharers::Services => (SERVICE_QUEUES, None),
    };
    let mut queue = |class: u32, priority: u32, queue_bytes: Option<u32>| {
        let turns = Turns {
            bytes: classes.turn_bytes,
            priority,
        };
        let flags = CREATE | EXCLUSIVE;
        put_class(batch, index, CLASS, class, OWN_BYTES_PER_SEC, shape, turns, flags);
        if let Some(bytes) = queue_bytes {
            fifo(batch, index, class, bytes);
        }
    };
    for minor in FIRST_QUEUE..FIRST_QUEUE + many {
        queue(HTB | minor, AFTERWARDS, queue_bytes);
    }
    queue(COMMON, AFTERWARDS, Some(shape.queue_bytes));
    if classes.sharers == Sharers::Services {
        queue(CONTROL, FIRST, None);
    }
    classify(batch, index, classes.own);
}

fn fifo(batch: &mut Batch, index: u32, parent: u32, queue_bytes: u32) {
    let leaf = Discipline {
        handle: 0,
        parent,
        kind: "bfifo",
    };
    leaf.make(
        batch,
        index,
        CREATE | EXCLUSIVE,
        "making a fair queue of",
        |attributes| {
            attributes.put(TCA_OPTIONS, &queue_bytes.to_ne_bytes());
        },
    );
}

/// Sets the classifier of a shaper, in place of the one before.
pub(super) fn classify(batch: &mut Batch, index: u32, program: RawFd) {
    let header = filter_header(index, CLASSIFIER, HTB, CLASS_PRIORITY);
    let purpose = format!("attaching a classifier to interface {index}");
    batch.request(RTM_NEWTFILTER, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put_text(TCA_KIND, "bpf");
        attributes.nest(TCA_OPTIONS, |options| {
            options.put_u32(TCA_BPF_CLASSID, HTB);
            options.put_u32(TCA_BPF_FD, program as u32);
            options.put_text(TCA_BPF_NAME, "cubeyard-fair");
            options.put_u32(TCA_BPF_FLAGS, DIRECT_ACTION);
        });
    });
}

#[cfg(test)]
mod tests {
    use cubeyard_dataplane::catalog::PROTOCOLS;
    use cubeyard_dataplane::service::MAX_USER_SERVICES;

    use super::*;

    #[test]
    fn each_service_that_there_can_be_has_a_queue_of_its_own() {
        for protocol in PROTOCOLS {
            let services = protocol.services.len() + MAX_USER_SERVICES;
            assert!(services <= SERVICE_QUEUES as usize, "{}", protocol.name);
        }
    }
}

//! Fair queues at an end of a link: the shaper has a class for each of some flows, or for each
//! service, and the classes send in turn.
//!
//! The kernel's `fq` and `fq_codel` could do it too, but many kernels lack them. This needs only
//! HTB, which shaping needs anyway. `[ours]`

use std::os::fd::RawFd;

use super::{
    CLASS, CLASS_PRIORITY, CREATE, DIRECT_ACTION, Discipline, EXCLUSIVE, HTB, REPLACE, RTM_NEWTFILTER, Shape,
    TCA_BPF_FD, TCA_BPF_FLAGS, TCA_BPF_NAME, TCA_KIND, TCA_OPTIONS, Turns, filter_header, put_class,
};
use crate::netlink::message::Batch;

/// Number of queues of an end, and the class of the first one; the same numbers as in
/// `emulator/bpf/fair/fair.bpf.c`.
pub const QUEUES: u32 = 64;
/// One queue for each service: the four that every server has, and four that users wrote.
const SERVICE_QUEUES: u32 = 8;
const FIRST_QUEUE: u32 = 2;
/// The class of all packets while a fault controls the queue, and of packets that the classifier
/// does not assign.
pub const COMMON_MINOR: u32 = 0x100;
pub const COMMON: u32 = HTB | COMMON_MINOR;
/// The class of control messages where services have classes; it is served first. `[camcube §5]`
const CONTROL: u32 = HTB | 0x101;
const FIRST: u32 = 0;
const AFTERWARDS: u32 = 1;
const CLASSIFIER: u32 = 1;
const TCA_BPF_CLASSID: u16 = 3;
/// A flow may fill this part of an end's queue, but at least two super-packets.
const SHARE: u32 = 8;
const LEAST_BYTES: u32 = 131_072;
/// Guaranteed rate of a class, in bytes per second. Almost zero, so that a class borrows its rate
/// from its parent.
const OWN_BYTES_PER_SEC: f64 = 125.0;

/// Which traffic has a separate queue at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharers {
    /// Each flow, up to [`QUEUES`] of them.
    Flows,
    /// Each service, and all packets of applications together.
    Services,
}

/// Classes of an end's shaper, with the programs that classify packets, which live as long as this
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Which traffic has a class.
    pub sharers: Sharers,
    /// Program that assigns each packet to the queue of its flow or service.
    pub own: RawFd,
    /// Program that assigns all packets to the common queue.
    pub common: RawFd,
    /// Bytes that a class sends per turn.
    pub turn_bytes: u32,
}

/// Adds a class per queue below the class that has the rate, their queues, and the classifier.
pub(super) fn add(batch: &mut Batch, index: u32, shape: &Shape, classes: Classes) {
    let (many, queue_bytes) = match classes.sharers {
        Sharers::Flows => (QUEUES, Some((shape.queue_bytes / SHARE).max(LEAST_BYTES))),
        // A service's packets are limited by its server's sockets to a few turns, and control
        // messages are few. The default queue of a class, 1,000 packets, holds both. It needs no
        // request, and the kernel omits it when it lists queues, which happens ten times a second.
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

/// Replaces the classifier of a shaper.
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

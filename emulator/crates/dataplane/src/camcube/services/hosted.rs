//! A service on a server, with the runtime's data about it.

use std::collections::BTreeMap;

use super::queues::Queues;
use crate::protocol::Time;
use crate::service::Service;

/// The traffic that a service has sent by a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes, including the services' header.
    pub bytes: u64,
}

/// A service and its state.
pub(super) struct Hosted {
    pub id: u16,
    pub service: Box<dyn Service>,
    /// By port: the packet that the service sent there, until the link takes it.
    pub slots: Vec<Option<Vec<u8>>>,
    pub queues: Queues,
    /// Sent traffic by port.
    pub sent: Vec<Sent>,
    pub counters: BTreeMap<&'static str, u64>,
    pub timer: Option<Time>,
}

impl Hosted {
    pub fn new(id: u16, service: Box<dyn Service>, ports: u8) -> Hosted {
        Hosted {
            id,
            service,
            slots: vec![None; ports.into()],
            queues: Queues::new(ports),
            sent: vec![Sent::default(); ports.into()],
            counters: BTreeMap::new(),
            timer: None,
        }
    }
}

pub(super) fn count(hosted: &mut Hosted, counter: &'static str, by: u64) {
    *hosted.counters.entry(counter).or_default() += by;
}

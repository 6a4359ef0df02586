//! A packet's way through the servers' forwarding, in no time.

use cubeyard_dataplane::address::{is_virtual, server_of};
use cubeyard_dataplane::forwarding::Verdict;
use cubeyard_dataplane::frame::PacketBuffer;
use cubeyard_dataplane::protocol::Input;
use cubeyard_topology::NodeId;

use super::Network;
use crate::flow::{FlowState, packet};
use crate::wiring::PortOf;

/// Hops after which a packet is taken to loop for ever.
const MOST_HOPS: usize = 256;

impl Network {
    /// Sends one packet of a flow along the path in the servers' tables, without a delay.
    pub(super) fn send_packet(&mut self, flow: &mut FlowState) {
        let now = self.now();
        let Some(host) = self.hosts.get_mut(&flow.source).filter(|host| host.running) else {
            return;
        };
        flow.path = vec![flow.source];
        flow.links.clear();
        let mut buffer = PacketBuffer::of(host.forwarding.headroom_bytes(), &packet(&flow.flow));
        let mut verdicts = Vec::new();
        host.forwarding.send(&mut buffer, now, &mut verdicts);
        let mut at = flow.source;
        self.tell_notices(at);
        for _ in 0..MOST_HOPS {
            match verdicts.pop() {
                Some(Verdict::Send { port }) => match self.transfer((at, port), &buffer) {
                    Some(to) => {
                        flow.links.extend(self.wiring.hop_links((at, port), to));
                        self.looped_packets += u64::from(flow.path.contains(&to.0));
                        flow.path.push(to.0);
                        at = to.0;
                        if let Some(host) = self.hosts.get_mut(&at) {
                            host.forwarding.receive(to.1, &mut buffer, now, &mut verdicts);
                        }
                        self.tell_notices(at);
                    }
                    None => return,
                },
                Some(Verdict::Deliver) => {
                    let inside = is_virtual(flow.flow.dst.into());
                    if !inside || server_of(flow.flow.dst.into()) == Some(at) {
                        flow.on_arrival(now);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// The port that a frame which a server sends by one of its ports arrives at; `None` where it
    /// is lost.
    pub(super) fn transfer(&self, from: PortOf, buffer: &PacketBuffer) -> Option<PortOf> {
        let &[0x02, 0xcb, port, high, middle, low] = buffer.frame().first_chunk::<6>()? else {
            return None;
        };
        let to = (NodeId::from_be_bytes([0, high, middle, low]), port);
        let carried = self.wiring.carries(&self.topology, &self.failures, from, to);
        (carried && !self.deaf.contains(&to)).then_some(to)
    }

    /// Passes the notices of a server's forwarding to its protocol.
    pub(super) fn tell_notices(&mut self, server: NodeId) {
        let notices = self
            .hosts
            .get_mut(&server)
            .map(|host| host.forwarding.take_notices());
        for notice in notices.unwrap_or_default() {
            self.input(server, Input::Notice(&notice));
        }
    }
}

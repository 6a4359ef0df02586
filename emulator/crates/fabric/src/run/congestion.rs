//! Applies congestion notices: receives the sources' answers, and sets the rates of their ports.
//! `crate::congestion` computes the rates; its threads send the answers.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use cubeyard_dataplane::event::{Event, NamedCell};
use cubeyard_dataplane::inspection::{Cell, ColumnKind};

use super::poller::Token;
use super::state::RunState;
use crate::congestion::PortKey;
use crate::congestion::cpu::{ChipCpu, Work};
use crate::congestion::message::{Answer, BYTES, PORT};
use crate::error::{During, Result};
use crate::host::clock::monotonic_nanos;
use crate::links::Site;
use crate::netlink::{Batch, no_excuse, set_rate};
use crate::programs::QueueReader;

/// Interval for updating limited ports. A cycle of 150 KB takes 12 ms at 100 Mb/s.
pub const LOOK: Duration = Duration::from_millis(4);
/// Most answers handled in one turn.
const MOST_AT_ONCE: usize = 256;

impl RunState {
    /// Sets up congestion notification for a newly wired server: its socket, its chip's CPU, its
    /// marks. Does nothing if congestion notification is off.
    pub fn watch_congestion(&mut self, server: usize) -> Result<()> {
        let (Some(congestion), Some(kernel)) = (&self.congestion, &mut self.kernels.servers[server]) else {
            return Ok(());
        };
        let socket = kernel.namespace.run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))
                .during(|| "opening a socket for notices".to_owned())?;
            socket
                .set_nonblocking(true)
                .during(|| "opening a socket for notices".to_owned())?;
            Ok(socket)
        })?;
        self.poller.add(&socket, Token::Answers(server))?;
        if let Some(programs) = &mut kernel.programs {
            let queues = kernel.queue_reader.as_mut().and_then(QueueReader::take_queues);
            if let (Some(questions), Some(queues)) = (programs.take_questions(), queues) {
                let socket = socket
                    .try_clone()
                    .during(|| "opening a socket for notices".to_owned())?;
                kernel.chip_cpu = Some(ChipCpu::start(Work {
                    server,
                    questions,
                    queues,
                    socket,
                    key: congestion.key,
                    point: congestion.point(),
                    tally: congestion.tally.clone(),
                })?);
            }
            for port in &self.network.ports[server] {
                programs.mark_every(port.port as u8, congestion.mark_bytes())?;
            }
        }
        kernel.answers = Some(socket);
        Ok(())
    }

    /// Handles the answers that a source has received.
    pub fn on_answers(&mut self, server: usize) -> Result<()> {
        for _ in 0..MOST_AT_ONCE {
            let (Some(congestion), Some(kernel)) = (&mut self.congestion, &mut self.kernels.servers[server])
            else {
                return Ok(());
            };
            let mut bytes = [0; BYTES + 1];
            let Some(Ok(length)) = kernel.answers.as_ref().map(|socket| socket.recv(&mut bytes)) else {
                return Ok(());
            };
            let Some(answer) = Answer::parse(&bytes[..length], congestion.key) else {
                congestion.refused += 1;
                continue;
            };
            let Some(end) = self.network.port(server, answer.source_port.into()) else {
                continue;
            };
            let Some(programs) = &mut kernel.programs else {
                return Ok(());
            };
            let line = self.active_faults.rate(&end);
            let sent_bytes = programs.sent_bytes(answer.source_port);
            let key = (server, answer.source_port);
            let marks = congestion.tell(key, answer.feedback.into(), line, sent_bytes, monotonic_nanos());
            programs.mark_every(answer.source_port, marks)?;
            if answer.feedback > 0 {
                self.follow(key)?;
            }
        }
        Ok(())
    }

    /// Emits an event for each server whose CPU received questions in the last second.
    pub fn tell_congestion(&mut self) {
        let Some(congestion) = &self.congestion else {
            return;
        };
        let seconds = congestion.tally.take_seconds();
        let reactions = congestion.tally.reactions();
        for (server, second) in seconds {
            let (count, answered) = (second.asked.max(1), second.answered.max(1));
            let cell = |name: &str, value: u64| NamedCell {
                name: name.to_owned(),
                kind: ColumnKind::Count,
                value: Cell::Count(value),
            };
            let event = Event::Reported {
                what: "queue-questions".to_owned(),
                cells: vec![
                    cell("questions", second.asked),
                    cell("queue_bytes", second.queue_bytes / count),
                    cell("reaction_micros", second.reaction_nanos / answered / 1000),
                    cell("sent_micros", second.sent_nanos / answered / 1000),
                    cell("median_so_far_micros", reactions.share_nanos(0.5) / 1000),
                    cell("p99_so_far_micros", reactions.share_nanos(0.99) / 1000),
                ],
            };
            let id = self.id(server);
            self.events.add_of_node(id, monotonic_nanos(), event);
        }
    }

    /// Updates every limited port.
    pub fn on_congestion_clock(&mut self) -> Result<()> {
        let limited = self.congestion.as_ref().map(|congestion| congestion.limited());
        limited
            .unwrap_or_default()
            .into_iter()
            .try_for_each(|port| self.follow(port))
    }

    /// Sets the rate of a port to that of its reaction point.
    fn follow(&mut self, key: PortKey) -> Result<()> {
        let (server, port) = key;
        let (Some(congestion), Some(kernel)) = (&mut self.congestion, &mut self.kernels.servers[server])
        else {
            return Ok(());
        };
        let (Some(programs), Some(end)) = (&kernel.programs, self.network.port(server, port.into())) else {
            return Ok(());
        };
        let sent_bytes = programs.sent_bytes(port);
        let Some(wanted) = congestion.follow(key, sent_bytes, monotonic_nanos()) else {
            return Ok(());
        };
        let line = self.active_faults.rate(&end);
        let mut shape = self.network.shape(end.link, Site::Server(server));
        shape.rate_bits_per_sec = wanted.map_or(line, |wanted| wanted.min(line));
        let mut batch = Batch::new();
        set_rate(&mut batch, crate::names::port_index(end.port), &shape);
        kernel.netlink.run(&mut batch, no_excuse)
    }
}

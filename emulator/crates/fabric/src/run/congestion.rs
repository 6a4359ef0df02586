//! Congestion notices carried out: questions from the rings of chips, answers over the network, rates of ports. What is answered and
//! how a rate follows is decided in `crate::congestion`.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use cubeyard_dataplane::event::{Event, NamedCell};
use cubeyard_dataplane::inspection::{Cell, ColumnKind};

use super::poller::Token;
use super::state::RunState;
use crate::congestion::message::{Answer, BYTES, PORT};
use crate::congestion::{Congestion, PortKey};
use crate::error::{During, Result};
use crate::host::clock::monotonic_nanos;
use crate::links::Site;
use crate::netlink::{Batch, no_excuse, set_rate};

/// How often limited ports are looked at: a cycle of 150 KB takes 12 ms at 100 Mb/s.
pub const LOOK: Duration = Duration::from_millis(4);
/// Questions and answers taken at a time.
const MOST_AT_ONCE: usize = 256;

impl RunState {
    /// Prepares a server that has just been wired: its socket, its marks. Nothing where queues tell nobody.
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
        kernel.answers = Some(socket);
        if let Some(programs) = &mut kernel.programs {
            if let Some(ring) = programs.questions() {
                self.poller.add(ring, Token::Questions(server))?;
            }
            for port in &self.network.ports[server] {
                programs.mark_every(port.port as u8, congestion.mark_bytes())?;
            }
        }
        Ok(())
    }

    /// Answers the questions that a server's chip has passed to its CPU.
    pub fn on_questions(&mut self, server: usize) -> Result<()> {
        let (Some(congestion), Some(kernel)) = (&mut self.congestion, &mut self.kernels.servers[server])
        else {
            return Ok(());
        };
        for _ in 0..MOST_AT_ONCE {
            let Some(question) = kernel
                .programs
                .as_mut()
                .and_then(|programs| programs.next_question())
            else {
                return Ok(());
            };
            let Some(question) = question else { continue };
            let Some(reader) = &kernel.queue_reader else {
                continue;
            };
            let queue_bytes = reader.queue_bytes(question.out_port)?;
            let Some(feedback) = congestion.ask((server, question.out_port), queue_bytes) else {
                continue;
            };
            let answer = Answer {
                source_port: question.source_port,
                feedback: feedback as u8,
                queue_bytes: u32::try_from(queue_bytes).unwrap_or(u32::MAX),
            };
            let to = SocketAddr::from((question.source, PORT));
            if let Some(socket) = &kernel.answers {
                // A notice may be lost, as any packet.
                let _lost = socket.send_to(&answer.emit(congestion.key), to);
                congestion.reacted(server, monotonic_nanos().saturating_sub(question.at_nanos));
            }
        }
        Ok(())
    }

    /// A source has got answers.
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
            let line = self.damage.rate(&end);
            let sent_bytes = programs.sent_bytes(answer.source_port)?;
            let key = (server, answer.source_port);
            let marks = congestion.tell(key, answer.feedback.into(), line, sent_bytes, monotonic_nanos());
            programs.mark_every(answer.source_port, marks)?;
            if answer.feedback > 0 {
                self.follow(key)?;
            }
        }
        Ok(())
    }

    /// An event for each server whose CPU was asked in the last second.
    pub fn tell_congestion(&mut self) {
        let seconds = self.congestion.as_mut().map(Congestion::take_seconds);
        for (server, second) in seconds.unwrap_or_default() {
            let asked = second.asked.max(1);
            let cell = |name: &str, value: u64| NamedCell {
                name: name.to_owned(),
                kind: ColumnKind::Count,
                value: Cell::Count(value),
            };
            let event = Event::Reported {
                what: "queue-questions".to_owned(),
                cells: vec![
                    cell("questions", second.asked),
                    cell("queue_bytes", second.queue_bytes / asked),
                    cell("reaction_micros", second.reaction_nanos / asked / 1000),
                ],
            };
            let id = self.id(server);
            self.events.add_of_node(id, monotonic_nanos(), event);
        }
    }

    /// Looks at every limited port.
    pub fn on_congestion_clock(&mut self) -> Result<()> {
        let limited = self.congestion.as_ref().map(|congestion| congestion.limited());
        limited
            .unwrap_or_default()
            .into_iter()
            .try_for_each(|port| self.follow(port))
    }

    /// Sets the rate of a port as its reaction point wants it.
    fn follow(&mut self, key: PortKey) -> Result<()> {
        let (server, port) = key;
        let (Some(congestion), Some(kernel)) = (&mut self.congestion, &mut self.kernels.servers[server])
        else {
            return Ok(());
        };
        let (Some(programs), Some(end)) = (&kernel.programs, self.network.port(server, port.into())) else {
            return Ok(());
        };
        let sent_bytes = programs.sent_bytes(port)?;
        let Some(wanted) = congestion.follow(key, sent_bytes, monotonic_nanos()) else {
            return Ok(());
        };
        let line = self.damage.rate(&end);
        let mut shape = self.network.shape(end.link, Site::Server(server));
        shape.rate_bits_per_sec = wanted.map_or(line, |wanted| wanted.min(line));
        let mut batch = Batch::new();
        set_rate(&mut batch, crate::names::port_index(end.port), &shape);
        kernel.netlink.run(&mut batch, no_excuse)
    }
}

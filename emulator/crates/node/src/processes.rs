//! Services in processes: a SEQPACKET socket for each, which the fabric hands over, where one
//! process at a time connects. Calls and answers are datagrams; the sandbox reads them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use cubeyard_dataplane::service::Services;
use cubeyard_sandbox::limits::PROCESS_ANSWER_BYTES;
use cubeyard_sandbox::{ProcessLink, ProcessService};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// Answers of a process before the others have their turn.
const TURN: usize = 32;

#[derive(Debug)]
struct Process {
    id: u16,
    link: ProcessLink,
    // The library's own sockets, for what they do whatever their type: they are of SEQPACKET.
    listener: UnixListener,
    connection: Option<UnixStream>,
}

/// The services of a server that are in processes.
#[derive(Debug)]
pub struct Processes {
    processes: Vec<Process>,
    buffer: Vec<u8>,
}

impl Default for Processes {
    fn default() -> Processes {
        Processes {
            processes: Vec::new(),
            buffer: vec![0; PROCESS_ANSWER_BYTES + 1],
        }
    }
}

impl Processes {
    /// Hosts a service whose process connects to this socket. Errors: there is none, a name or
    /// number that is taken.
    pub fn host(
        &mut self,
        name: &str,
        id: u16,
        listener: Option<OwnedFd>,
        services: &mut dyn Services,
        poller: &Poller,
    ) -> Result<(), String> {
        let listener = UnixListener::from(listener.ok_or_else(|| {
            format!("Service {name} is in a process, which cannot reach this server: write it as a module.")
        })?);
        let (service, link) = ProcessService::new(name, 0, now());
        services.host(now(), id, Box::new(service))?;
        let index = self.processes.len() as u32;
        poller
            .add(&listener, Token::Processes(index), Interest::READ)
            .map_err(|error| format!("Service {name}: waiting for its process: {}", error.desc()))?;
        self.processes.push(Process {
            id,
            link,
            listener,
            connection: None,
        });
        Ok(())
    }

    /// A process knocks. While another is connected, or the service is stopped, it is sent away.
    pub fn on_knock(&mut self, index: usize, services: &mut dyn Services, poller: &Poller) {
        let Some(process) = self.processes.get_mut(index) else {
            return;
        };
        while let Ok((connection, _)) = process.listener.accept() {
            let token = Token::Process(index as u32);
            let ready = process.link.is_open() && connection.set_nonblocking(true).is_ok();
            if ready && poller.add(&connection, token, Interest::READ).is_ok() {
                process.connection = Some(connection);
                process.link.connect();
                services.wake(now(), process.id);
            }
        }
        self.fill(index, services, poller);
    }

    /// A process has answered, has room, or is gone.
    pub fn on_ready(&mut self, index: usize, services: &mut dyn Services, poller: &Poller) {
        let Some(process) = self.processes.get_mut(index) else {
            return;
        };
        for _ in 0..TURN {
            let Some(connection) = &process.connection else {
                break;
            };
            match recv(connection.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Ok(length) if length > 0 => process.link.answer(&self.buffer[..length]),
                _ => {
                    process.connection = None;
                    process.link.disconnect();
                }
            }
            services.wake(now(), process.id);
        }
        self.fill(index, services, poller);
    }

    /// Passes calls on to every process, as far as it reads, and ends the connections that services
    /// want ended.
    pub fn fill_all(&mut self, services: &mut dyn Services, poller: &Poller) {
        for index in 0..self.processes.len() {
            self.fill(index, services, poller);
        }
    }

    fn fill(&mut self, index: usize, services: &mut dyn Services, poller: &Poller) {
        let process = &mut self.processes[index];
        if process.link.hangs_up() {
            process.connection = None;
            process.link.disconnect();
            services.wake(now(), process.id);
        }
        let Some(connection) = &process.connection else {
            return;
        };
        let mut interest = Interest::READ;
        while let Some(call) = process.link.next_call() {
            // A connection that is broken is noticed when it is read.
            if send(connection.as_raw_fd(), &call, MsgFlags::MSG_NOSIGNAL) == Err(Errno::EAGAIN) {
                process.link.put_back(call);
                interest = Interest::BOTH;
                break;
            }
        }
        // It was added, so it is known.
        let _ = poller.modify(connection, Token::Process(index as u32), interest);
    }
}

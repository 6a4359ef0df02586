//! Services in processes. The fabric hands over a SEQPACKET socket for each service, to which one
//! process at a time can connect. Calls and answers are datagrams, which the sandbox parses.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use cubeyard_dataplane::service::Services;
use cubeyard_sandbox::limits::PROCESS_ANSWER_BYTES;
use cubeyard_sandbox::{ProcessLink, ProcessService};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// Most answers of a process per turn.
const TURN: usize = 32;

#[derive(Debug)]
struct Process {
    id: u16,
    link: ProcessLink,
    // The library's types for stream sockets, used only for calls that work for SEQPACKET sockets
    // too.
    listener: UnixListener,
    connection: Option<UnixStream>,
}

/// The services of a server that run in processes.
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
    /// Hosts a service whose process connects to this socket. Errors: no socket, or a name or
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

    /// Accepts a connecting process. Closes the connection if another process is connected or the
    /// service is stopped.
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

    /// Handles an answer of a process, free space for calls, or its end.
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

    /// Sends calls to every process while it reads, and closes the connections that services want
    /// closed.
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
            // A broken connection is detected when it is read.
            if send(connection.as_raw_fd(), &call, MsgFlags::MSG_NOSIGNAL) == Err(Errno::EAGAIN) {
                process.link.put_back(call);
                interest = Interest::BOTH;
                break;
            }
        }
        // The connection is registered, so this cannot fail.
        let _ = poller.modify(connection, Token::Process(index as u32), interest);
    }
}

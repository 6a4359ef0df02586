//! Services in processes: a SEQPACKET socket in the node's folder for each, where one process at a time connects. Calls and answers
//! are datagrams; what they mean is the sandbox's.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use cubeyard_dataplane::service::Services;
use cubeyard_sandbox::limits::PROCESS_ANSWER_BYTES;
use cubeyard_sandbox::{ProcessLink, ProcessService};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, UnixAddr, bind, listen, recv, send, socket,
};

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// The folder of the sockets, in the node's own.
const FOLDER: &str = "services";
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
    folder: Option<PathBuf>,
    processes: Vec<Process>,
    buffer: Vec<u8>,
}

impl Processes {
    /// Sockets are beside the one to the fabric; there is no place for them where that has no path.
    pub fn beside(fabric: &Path) -> Processes {
        let abstract_name = fabric.as_os_str().as_encoded_bytes().starts_with(b"@");
        let folder = fabric.parent().filter(|_| !abstract_name);
        Processes {
            folder: folder.map(|folder| folder.join(FOLDER)),
            processes: Vec::new(),
            buffer: vec![0; PROCESS_ANSWER_BYTES + 1],
        }
    }

    /// Hosts a service whose process connects to a socket of its own. Errors: there is no place for sockets, a name or number
    /// that is taken.
    pub fn host(
        &mut self,
        name: &str,
        id: u16,
        services: &mut dyn Services,
        poller: &Poller,
    ) -> Result<(), String> {
        let folder = self.folder.as_ref().ok_or_else(|| {
            format!("Service {name} is in a process, which cannot reach this server: write it as a module.")
        })?;
        let (service, link) = ProcessService::new(name, 0, now());
        services.host(now(), id, Box::new(service))?;
        let path = folder.join(id.to_string());
        let failed = |error: io::Error| format!("Service {name}: listening at {}: {error}", path.display());
        let listener = listen_at(&path).map_err(failed)?;
        let index = self.processes.len() as u32;
        poller
            .add(&listener, Token::Processes(index), Interest::READ)
            .map_err(|error| failed(error.into()))?;
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

    /// Passes calls on to every process, as far as it reads, and ends the connections that services want ended.
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

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    // That of a node which was killed.
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(4)?)?;
    // Who reaches the folder may connect.
    fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
    Ok(socket.into())
}

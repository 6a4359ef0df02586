//! TCP flows. Senders send the same block of memory repeatedly without copying it; receivers let
//! the kernel discard the data. So neither adds much processor time to that of the network itself.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use cubeyard_dataplane::configuration::secs;
use cubeyard_dataplane::protocol::Time;
use nix::errno::Errno;
use nix::libc;
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrIn, bind, connect, getpeername,
    getsockname, getsockopt, listen, recv, setsockopt, shutdown, socket, sockopt,
};

use super::{Allowance, BLOCK_BYTES, CONNECT_SECS, Progress, Shared};
use crate::poller::{Interest, Poller, Token};
use crate::socket_options::{retransmits, set_pacing_rate, set_receive_low_water, subflows};
use cubeyard_messages::{FlowOrder, Transport};

/// If sent data is not acknowledged for this time, the peer counts as lost.
pub const USER_TIMEOUT_MILLIS: u32 = 60_000;
/// Time between two tries to connect.
pub const RETRY: Duration = Duration::from_millis(250);
/// Most bytes of one flow per turn.
const TURN_BYTES: usize = 4 << 20;
/// A receiver wakes up only for this many bytes.
const LOW_WATER_BYTES: u32 = 32 * 1024;

/// The sending end of a flow.
#[derive(Debug, Default)]
pub struct Sender {
    state: State,
    local_port: Option<u16>,
    offset: i64,
    /// Whether the poller waits until the socket is writable.
    awake: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Not connected: before the start, or between two tries.
    #[default]
    Apart,
    Connecting(OwnedFd),
    Sending(OwnedFd),
    /// Everything is sent; the peer closes the connection after receiving it.
    Draining(OwnedFd),
    Done,
}

impl Sender {
    /// Source port, once connected.
    pub fn local_port(&self) -> Option<u16> {
        self.local_port
    }

    /// Reads the number of retransmitted segments, and the bytes of MPTCP's subflows.
    pub fn ask_retransmits(&self, transport: Transport, progress: &mut Progress) {
        if let State::Sending(fd) | State::Draining(fd) = &self.state {
            if transport == Transport::Mptcp {
                if let Ok(found) = subflows(fd) {
                    let again = found.iter().map(|item| item.retransmits).sum();
                    // The count of a closed subflow disappears, so keep the maximum.
                    progress.retransmits = progress.retransmits.max(again);
                    progress.subflows = found;
                }
                return;
            }
            progress.retransmits = retransmits(fd).map_or(progress.retransmits, u64::from);
        }
    }

    /// Does what is possible now. Returns when to continue even if the socket is not ready.
    #[expect(
        clippy::too_many_arguments,
        reason = "the one call from the workload, which owns all of it"
    )]
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        begins: Time,
        now: Time,
        allowance: Allowance,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> Option<Time> {
        let outcome = match &self.state {
            State::Apart => self.begin(order, shared, poller),
            State::Connecting(fd) => match getsockopt(fd, sockopt::SocketError) {
                Ok(0) if getpeername::<SockaddrIn>(fd.as_raw_fd()).is_ok() => self.connected(),
                Ok(0) => Ok(()),
                Ok(error) => Err(Errno::from_raw(error)),
                Err(error) => Err(error),
            },
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            self.state = State::Apart;
            if now >= begins + secs(CONNECT_SECS) {
                progress.stop(format!(
                    "could not connect to {}: {}",
                    order.peer_ip,
                    error.desc()
                ));
                self.state = State::Done;
                return None;
            }
            return Some(now + RETRY);
        }
        if let Err(error) = self.carry(order, allowance, shared, poller, progress) {
            self.ask_retransmits(order.transport, progress);
            progress.stop(format!("lost {}: {}", order.peer_ip, error.desc()));
            self.state = State::Done;
        }
        None
    }

    fn begin(&mut self, order: &FlowOrder, shared: &Shared, poller: &Poller) -> nix::Result<()> {
        let wanted = order.source_port.map(|port| open(order, shared, port));
        let fd = match wanted {
            Some(Ok(fd)) => fd,
            // Another socket uses the port, or the connection's ports are still in use: take any
            // port.
            _ => open(order, shared, 0)?,
        };
        poller.add(&fd, Token::Flow(order.id), Interest::BOTH)?;
        self.awake = true;
        self.state = State::Connecting(fd);
        Ok(())
    }

    fn connected(&mut self) -> nix::Result<()> {
        if let State::Connecting(fd) = std::mem::take(&mut self.state) {
            self.local_port = Some(getsockname::<SockaddrIn>(fd.as_raw_fd())?.port());
            self.state = State::Sending(fd);
        }
        Ok(())
    }

    /// Sends as much as the flow may send and the socket accepts.
    fn carry(
        &mut self,
        order: &FlowOrder,
        allowance: Allowance,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> nix::Result<()> {
        if let State::Sending(fd) = &self.state {
            let mut turn = TURN_BYTES;
            let mut full = false;
            while turn > 0 && progress.bytes < allowance.bytes && !full {
                let left = (allowance.bytes - progress.bytes).min(turn as u64) as usize;
                let count = left.min(BLOCK_BYTES - self.offset as usize);
                match sendfile(fd, &shared.block, Some(&mut self.offset), count) {
                    Ok(sent) => {
                        self.offset %= BLOCK_BYTES as i64;
                        progress.bytes += sent as u64;
                        turn -= sent;
                    }
                    Err(Errno::EAGAIN) => full = true,
                    Err(Errno::EINTR) => {}
                    Err(error) => return Err(error),
                }
            }
            let all = progress.bytes >= allowance.bytes;
            if all && allowance.is_final {
                shutdown(fd.as_raw_fd(), Shutdown::Write)?;
            }
            // A socket without data to send is always writable, so epoll would return immediately
            // each time.
            if self.awake == all {
                let interest = if all { Interest::READ } else { Interest::BOTH };
                poller.modify(fd, Token::Flow(order.id), interest)?;
                self.awake = !all;
            }
            if all
                && allowance.is_final
                && let State::Sending(fd) = std::mem::take(&mut self.state)
            {
                self.state = State::Draining(fd);
            }
        }
        // The peer never sends. The end of its stream means that it has received everything or has
        // disconnected.
        if let State::Sending(fd) | State::Draining(fd) = &self.state {
            match recv(fd.as_raw_fd(), &mut shared.sink, MsgFlags::MSG_TRUNC) {
                Ok(0) if matches!(self.state, State::Draining(_)) => {
                    self.ask_retransmits(order.transport, progress);
                    progress.done = true;
                    self.state = State::Done;
                }
                Ok(0) => return Err(Errno::ECONNRESET),
                Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The receiving end of a flow.
#[derive(Debug, Default)]
pub struct Receiver {
    listener: Option<OwnedFd>,
    connection: Option<OwnedFd>,
    peer_port: Option<u16>,
}

impl Receiver {
    /// Listens for the connection of the sender.
    pub fn listen(order: &FlowOrder, shared: &Shared, poller: &Poller, progress: &mut Progress) -> Receiver {
        Receiver {
            listener: listener(order, shared, poller, progress),
            ..Receiver::default()
        }
    }

    /// Source port of the sender, once it has connected.
    pub fn peer_port(&self) -> Option<u16> {
        self.peer_port
    }

    /// Reads the data that is waiting.
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) {
        if self.listener.is_some()
            && let Err(error) = self.accept(order, poller)
        {
            progress.stop(format!("could not accept {}: {}", order.peer_ip, error.desc()));
        }
        let Some(fd) = &self.connection else {
            return;
        };
        let mut turn = TURN_BYTES;
        while turn > 0 {
            match recv(fd.as_raw_fd(), &mut shared.sink, MsgFlags::MSG_TRUNC) {
                Ok(0) => {
                    progress.done = true;
                    if order.bytes.is_some_and(|bytes| progress.bytes < bytes) {
                        progress.stop(format!("{} ended early", order.peer_ip));
                    }
                    break;
                }
                Ok(count) => {
                    progress.bytes += count as u64;
                    turn = turn.saturating_sub(count);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(error) => {
                    progress.stop(format!("lost {}: {}", order.peer_ip, error.desc()));
                    break;
                }
            }
        }
        if progress.done {
            self.connection = None;
            self.listener = None;
        }
    }

    /// Accepts the connection of the expected sender, and closes others.
    fn accept(&mut self, order: &FlowOrder, poller: &Poller) -> nix::Result<()> {
        while let Some(listener) = &self.listener {
            let Some(fd) = accept_one(listener)? else {
                return Ok(());
            };
            let peer = getpeername::<SockaddrIn>(fd.as_raw_fd());
            let is_expected = |peer: &SockaddrIn| peer.ip() == order.peer_ip && self.connection.is_none();
            let Some(peer) = peer.ok().filter(is_expected) else {
                continue;
            };
            set_receive_low_water(&fd, LOW_WATER_BYTES)?;
            poller.add(&fd, Token::Flow(order.id), Interest::READ)?;
            self.peer_port = Some(peer.port());
            self.connection = Some(fd);
            if order.transport == Transport::Mptcp {
                // Keep the listener: further subflows of the connection need it.
                break;
            }
            self.listener = None;
        }
        Ok(())
    }
}

/// Opens a listening socket at the flow's port. If that fails, the flow has ended.
pub fn listener(
    order: &FlowOrder,
    shared: &Shared,
    poller: &Poller,
    progress: &mut Progress,
) -> Option<OwnedFd> {
    let open = || {
        let fd = tcp_socket(order.transport)?;
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        // The subflows of MPTCP arrive at all addresses of the server.
        let ip = match order.transport {
            Transport::Mptcp => Ipv4Addr::UNSPECIFIED,
            Transport::Tcp | Transport::Udp => shared.ip,
        };
        bind(fd.as_raw_fd(), &address(ip, order.port))?;
        listen(&fd, Backlog::new(4)?)?;
        poller.add(&fd, Token::Flow(order.id), Interest::READ)?;
        Ok(fd)
    };
    let listener: nix::Result<OwnedFd> = open();
    if let Err(error) = &listener {
        progress.stop(format!(
            "could not listen on port {}: {}",
            order.port,
            error.desc()
        ));
    }
    listener.ok()
}

/// Accepts the next waiting connection.
#[allow(unsafe_code, reason = "the library gives the new descriptor as a bare number")]
pub fn accept_one(listener: &OwnedFd) -> nix::Result<Option<OwnedFd>> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    match nix::sys::socket::accept4(listener.as_raw_fd(), flags) {
        // SAFETY: the descriptor is new, so nothing else owns it.
        Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a socket that connects from this port; 0 for any port.
pub fn open(order: &FlowOrder, shared: &Shared, port: u16) -> nix::Result<OwnedFd> {
    let fd = tcp_socket(order.transport)?;
    if order.transport == Transport::Tcp {
        // MPTCP does not have this option. Its subflows end after the namespace's number of
        // retransmissions.
        setsockopt(&fd, sockopt::TcpUserTimeout, &USER_TIMEOUT_MILLIS)?;
    }
    if let Some(rate) = order.rate_bits_per_sec {
        set_pacing_rate(&fd, (rate / 8.0).min(f64::from(u32::MAX)) as u32)?;
    }
    // An earlier connection of the port may still wait for its last packets.
    setsockopt(&fd, sockopt::ReuseAddr, &(port != 0))?;
    bind(fd.as_raw_fd(), &address(order.own_ip.unwrap_or(shared.ip), port))?;
    match connect(fd.as_raw_fd(), &address(order.peer_ip, order.port)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(fd),
        Err(error) => Err(error),
    }
}

/// Protocol number of MPTCP for sockets; it is no IP protocol. `[man 7 mptcp]`
const IPPROTO_MPTCP: libc::c_int = 262;

#[allow(unsafe_code, reason = "the library does not know this protocol of sockets")]
fn tcp_socket(transport: Transport) -> nix::Result<OwnedFd> {
    if transport != Transport::Mptcp {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        return socket(AddressFamily::Inet, SockType::Stream, flags, None);
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes only numbers.
    let number = unsafe { libc::socket(libc::AF_INET, kind, IPPROTO_MPTCP) };
    Errno::result(number)?;
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn address(ip: Ipv4Addr, port: u16) -> SockaddrIn {
    SockaddrIn::from(SocketAddrV4::new(ip, port))
}

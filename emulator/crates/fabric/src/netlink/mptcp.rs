//! The kernel's MPTCP, by the generic netlink family `mptcp_pm`: we are the path manager of a
//! namespace. The kernel reports connections and subflows, and we add the subflows.
//! `[man 8 ip-mptcp, linux/mptcp_pm.h]`
//!
//! The kernel's own path manager is no alternative: its endpoints are either announced or joined to
//! every address of the peer, but our servers both send and receive. Its subflows also get
//! arbitrary ports, so that their paths could not be computed in advance.
#![allow(unsafe_code, reason = "no library joins a group of generic netlink")]

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

use super::message::{Answer, Batch, attributes};
use super::socket::{Netlink, no_excuse};
use crate::error::{During, FabricError, Result};

/// The generic netlink family that returns the numbers of families.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

const FAMILY: &str = "mptcp_pm";
const EVENTS: &str = "mptcp_pm_events";
const VERSION: u8 = 1;
/// Command, version and two reserved bytes.
const HEADER_BYTES: usize = 4;
const CMD_SUBFLOW_CREATE: u8 = 10;
const ATTR_ADDR: u16 = 1;
const ATTR_TOKEN: u16 = 4;
const ATTR_ADDR_REMOTE: u16 = 6;
const ADDR_FAMILY: u16 = 1;
const ADDR_ID: u16 = 2;
const ADDR_ADDR4: u16 = 3;
const ADDR_PORT: u16 = 5;
const NESTED: u16 = 0x8000;

const EVENT_ESTABLISHED: u8 = 2;
const EVENT_CLOSED: u8 = 3;
const EVENT_SUB_ESTABLISHED: u8 = 10;
const EVENT_SUB_CLOSED: u8 = 11;
const EVENT_TOKEN: u16 = 1;
const EVENT_LOCAL_ID: u16 = 3;
const EVENT_SOURCE_PORT: u16 = 9;
const EVENT_DESTINATION_PORT: u16 = 10;
const EVENT_SERVER_SIDE: u16 = 18;

/// An event of a connection, identified by its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The connection has its first subflow.
    Established {
        /// Token of the connection.
        token: u32,
        /// Source and destination port, as seen from this end.
        ports: [u16; 2],
        /// Whether the other end opened the connection.
        is_accepted: bool,
    },
    /// The connection has ended.
    Closed {
        /// Token of the connection.
        token: u32,
    },
    /// The connection has another subflow.
    SubflowUp {
        /// Token of the connection.
        token: u32,
        /// Number of the subflow, which is the number of its address at this end.
        id: u8,
        /// Source port of the subflow.
        source_port: u16,
    },
    /// A subflow has ended.
    SubflowDown {
        /// Token of the connection.
        token: u32,
        /// Number of the subflow.
        id: u8,
    },
}

/// A subflow to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowRequest {
    /// Token of the connection.
    pub token: u32,
    /// Number of the new subflow, unique in the connection.
    pub id: u8,
    /// Source address, and port if it is fixed.
    pub from: (Ipv4Addr, Option<u16>),
    /// Destination address and port.
    pub to: (Ipv4Addr, u16),
}

/// Sends requests to the kernel's MPTCP in one namespace, and receives its events.
#[derive(Debug)]
pub struct PathManager {
    commands: Netlink,
    events: Netlink,
    family: u16,
}

impl PathManager {
    /// Opens the sockets in the namespace of the calling thread. Errors: a kernel without MPTCP.
    pub fn open() -> Result<PathManager> {
        let mut commands = Netlink::open_generic()?;
        let (family, group) = family(&mut commands)?;
        let events = Netlink::open_generic()?;
        // SAFETY: the pointer and the length are those of `group`, which outlives the call.
        let joined = unsafe {
            libc::setsockopt(
                events.as_fd().as_raw_fd(),
                libc::SOL_NETLINK,
                libc::NETLINK_ADD_MEMBERSHIP,
                (&raw const group).cast(),
                size_of::<u32>() as libc::socklen_t,
            )
        };
        Errno::result(joined).during(|| format!("listening to {EVENTS}"))?;
        Ok(PathManager {
            commands,
            events,
            family,
        })
    }

    /// Adds a subflow; an event confirms that it exists.
    pub fn add(&mut self, request: &SubflowRequest) -> Result<()> {
        let mut batch = Batch::new();
        let purpose = format!("adding subflow {} from {}", request.id, request.from.0);
        let header = [CMD_SUBFLOW_CREATE, VERSION, 0, 0];
        batch.request(self.family, 0, &header, purpose, |attributes| {
            attributes.put_u32(ATTR_TOKEN, request.token);
            attributes.nest(ATTR_ADDR | NESTED, |inner| {
                inner.put(ADDR_FAMILY, &(libc::AF_INET as u16).to_ne_bytes());
                inner.put_u8(ADDR_ID, request.id);
                inner.put(ADDR_ADDR4, &request.from.0.octets());
                if let Some(port) = request.from.1 {
                    inner.put(ADDR_PORT, &port.to_ne_bytes());
                }
            });
            attributes.nest(ATTR_ADDR_REMOTE | NESTED, |inner| {
                inner.put(ADDR_FAMILY, &(libc::AF_INET as u16).to_ne_bytes());
                inner.put(ADDR_ADDR4, &request.to.0.octets());
                inner.put(ADDR_PORT, &request.to.1.to_ne_bytes());
            });
        });
        self.commands.run(&mut batch, no_excuse)
    }

    /// Returns the events since the last call; does not wait.
    pub fn events(&mut self) -> Result<Vec<PathEvent>> {
        let mut events = Vec::new();
        self.events.announced(|answer| events.extend(event_of(answer)))?;
        Ok(events)
    }
}

impl AsFd for PathManager {
    /// A descriptor that is readable when the kernel has sent an event.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// Number of the family, and of its multicast group for events.
fn family(socket: &mut Netlink) -> Result<(u16, u32)> {
    let mut batch = Batch::new();
    let header = [CTRL_CMD_GETFAMILY, 1, 0, 0];
    batch.request(
        GENL_ID_CTRL,
        0,
        &header,
        "asking for the kernel's MPTCP",
        |attributes| attributes.put_text(CTRL_ATTR_FAMILY_NAME, FAMILY),
    );
    let (mut family, mut group) = (None, None);
    socket.run_and_read(&mut batch, no_excuse, |answer| {
        let fields = answer.attributes(HEADER_BYTES);
        let id = fields.find_value(CTRL_ATTR_FAMILY_ID);
        family = id
            .and_then(<[u8]>::first_chunk)
            .map(|bytes| u16::from_ne_bytes(*bytes));
        let groups = fields.find_value(CTRL_ATTR_MCAST_GROUPS).unwrap_or_default();
        for (_, item) in attributes(groups) {
            let name = attributes(item).find_value(CTRL_ATTR_MCAST_GRP_NAME);
            if name.is_some_and(|name| name.strip_suffix(&[0]) == Some(EVENTS.as_bytes())) {
                let id = attributes(item).find_value(CTRL_ATTR_MCAST_GRP_ID);
                group = id
                    .and_then(<[u8]>::first_chunk)
                    .map(|bytes| u32::from_ne_bytes(*bytes));
            }
        }
    })?;
    family.zip(group).ok_or_else(|| {
        FabricError::unsupported(
            "this kernel's MPTCP has no path manager for us",
            "use Linux 5.19 or later with CONFIG_MPTCP",
        )
    })
}

/// Parses an event; `None` for kinds that are not used here.
fn event_of(answer: Answer<'_>) -> Option<PathEvent> {
    let kind = *answer.body.first()?;
    let value = |wanted| answer.attributes(HEADER_BYTES).find_value(wanted);
    let port = |wanted| {
        value(wanted)
            .and_then(<[u8]>::first_chunk)
            .map(|bytes| u16::from_be_bytes(*bytes))
    };
    let token = u32::from_ne_bytes(*value(EVENT_TOKEN)?.first_chunk()?);
    let id = value(EVENT_LOCAL_ID)
        .and_then(<[u8]>::first)
        .copied()
        .unwrap_or_default();
    Some(match kind {
        EVENT_ESTABLISHED => PathEvent::Established {
            token,
            ports: [port(EVENT_SOURCE_PORT)?, port(EVENT_DESTINATION_PORT)?],
            is_accepted: value(EVENT_SERVER_SIDE)
                .is_some_and(|side| side.first().is_some_and(|side| *side != 0)),
        },
        EVENT_CLOSED => PathEvent::Closed { token },
        EVENT_SUB_ESTABLISHED => PathEvent::SubflowUp {
            token,
            id,
            source_port: port(EVENT_SOURCE_PORT)?,
        },
        EVENT_SUB_CLOSED => PathEvent::SubflowDown { token, id },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(kind: u8, fill: impl FnOnce(&mut super::super::message::Attributes<'_>)) -> Option<PathEvent> {
        let mut batch = Batch::new();
        batch.request(40, 0, &[kind, 1, 0, 0], "", fill);
        let bytes = batch.bytes_of(0..1, 1).to_vec();
        let answer = super::super::message::answers(&bytes).next().expect("an answer");
        event_of(answer)
    }

    #[test]
    fn events_are_read_as_this_kernel_writes_them() {
        let established = told(EVENT_ESTABLISHED, |attributes| {
            attributes.put_u32(EVENT_TOKEN, 7);
            attributes.put(EVENT_SOURCE_PORT, &20_000_u16.to_be_bytes());
            attributes.put(EVENT_DESTINATION_PORT, &5201_u16.to_be_bytes());
        });
        let ports = [20_000, 5201];
        let expected = PathEvent::Established {
            token: 7,
            ports,
            is_accepted: false,
        };
        assert_eq!(established, Some(expected));
        let up = told(EVENT_SUB_ESTABLISHED, |attributes| {
            attributes.put_u32(EVENT_TOKEN, 7);
            attributes.put_u8(EVENT_LOCAL_ID, 2);
            attributes.put(EVENT_SOURCE_PORT, &20_001_u16.to_be_bytes());
        });
        assert_eq!(
            up,
            Some(PathEvent::SubflowUp {
                token: 7,
                id: 2,
                source_port: 20_001
            })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_of_the_kernel_can_make_reading_fail(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = event_of(Answer { kind: 40, sequence: 0, body: &body });
        }
    }
}

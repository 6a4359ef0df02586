//! Next-hop objects and groups of them, as `ip nexthop` configures them: routes refer to them by
//! number, so that many routes share a group and one request changes it for all.
//! `[man 8 ip-nexthop]`

use std::net::Ipv4Addr;

use super::message::{Batch, CREATE, REPLACE};

pub(super) const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
pub(super) const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
pub(super) const NHA_OIF: u16 = 5;
pub(super) const NHA_GATEWAY: u16 = 6;
const AF_UNSPEC: u8 = 0;
const AF_INET: u8 = 2;
const RTPROT_STATIC: u8 = 4;
const RTNH_F_ONLINK: u32 = 4;

fn header(family: u8, flags: u32) -> [u8; 8] {
    let mut header = [family, 0, RTPROT_STATIC, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// The fixed part of a next hop that is reached by its interface, independent of the interface's
/// subnets.
pub(super) fn by_gateway() -> [u8; 8] {
    header(AF_INET, RTNH_F_ONLINK)
}

/// Removal takes only a number; the kernel refuses other fields.
const BY_NUMBER: [u8; 8] = [0; 8];

/// Adds a next hop over an interface, or replaces the one with the same number. The interface must
/// have a carrier; when it loses it, the kernel removes the next hop.
pub fn add_next_hop(batch: &mut Batch, id: u32, index: u32, gateway: Ipv4Addr) {
    let purpose = format!("adding the next hop {gateway} over interface {index}");
    batch.request(
        RTM_NEWNEXTHOP,
        CREATE | REPLACE,
        &by_gateway(),
        purpose,
        |attributes| {
            attributes.put_u32(NHA_ID, id);
            attributes.put_u32(NHA_OIF, index);
            attributes.put(NHA_GATEWAY, &gateway.octets());
        },
    );
}

/// A next hop of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Number of the next hop.
    pub id: u32,
    /// Weight from 1 to 256.
    pub weight: u32,
}

/// Adds or replaces a group of existing next hops. The kernel assigns each member a range of
/// hashes, in this order and in proportion to its weight.
pub fn add_group(batch: &mut Batch, id: u32, members: &[GroupMember]) {
    let purpose = format!("adding the group {id} of {} next hops", members.len());
    batch.request(
        RTM_NEWNEXTHOP,
        CREATE | REPLACE,
        &header(AF_UNSPEC, 0),
        purpose,
        |attributes| {
            attributes.put_u32(NHA_ID, id);
            let mut bytes = Vec::with_capacity(8 * members.len());
            for member in members {
                bytes.extend_from_slice(&member.id.to_ne_bytes());
                // The kernel stores weights minus one.
                bytes.extend_from_slice(&[(member.weight - 1) as u8, 0, 0, 0]);
            }
            attributes.put(NHA_GROUP, &bytes);
        },
    );
}

/// Removes a next hop or a group, with the routes that use it.
pub fn delete_next_hop(batch: &mut Batch, id: u32) {
    let purpose = format!("removing the next hop {id}");
    batch.request(RTM_DELNEXTHOP, 0, &BY_NUMBER, purpose, |attributes| {
        attributes.put_u32(NHA_ID, id);
    });
}

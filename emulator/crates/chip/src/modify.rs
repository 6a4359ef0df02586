//! The modifiers of L3 and L2 `[serverswitch §4.1, §7]`, each change separately, so that a trace
//! can list them.
//!
//! The TTL of labels follows the uniform model of RFC 3443: a pushed label gets the TTL of the
//! packet, a popped label passes its TTL on.

use crate::action::{Action, Mpls, Tunnel};
use crate::entries::Vif;
use crate::frame::{ETHERNET_BYTES, Frame, IPV4, IPV6, MPLS, ones_complement_sum, word};
use crate::parser::{IP_CHECKSUM_AT, IP_TTL_AT, LABEL_BYTES, Parsed, Protocol, ipv4};
use crate::pipeline::DiscardReason;

/// TTL of a label or outer header that has none to inherit.
const FIRST_TTL: u8 = 64;
/// Protocol number of IPv4 in IPv4.
const IP_IN_IP: u8 = 4;
/// The bottom-of-stack bit of an MPLS label.
const BOTTOM: u32 = 1 << 8;

type Done = Result<(), DiscardReason>;

/// TTL down by one. Errors: [`DiscardReason::Ttl`] for 1 and 0 `[serverswitch §5.1]`.
pub(crate) fn count_ttl(frame: &mut Frame, parsed: &Parsed) -> Done {
    match parsed.protocol {
        Protocol::Ethernet => return Ok(()),
        _ if parsed.ttl <= 1 => return Err(DiscardReason::Ttl),
        Protocol::Ipv4 => set_ip_byte(frame.bytes_mut(), IP_TTL_AT, parsed.ttl - 1),
        Protocol::Mpls => frame.bytes_mut()[ETHERNET_BYTES + 3] = parsed.ttl - 1,
    }
    Ok(())
}

/// New DSCP; the two bits of ECN stay.
pub(crate) fn set_dscp(frame: &mut Frame, parsed: &Parsed, dscp: u8) -> Done {
    if parsed.protocol != Protocol::Ipv4 {
        return Err(DiscardReason::NotApplicable);
    }
    let at = ETHERNET_BYTES + 1;
    let ecn = frame.bytes()[at] & 3;
    set_ip_byte(frame.bytes_mut(), at, dscp << 2 | ecn);
    Ok(())
}

/// One more in a byte; an IPv4 header's checksum follows.
pub(crate) fn count_up(frame: &mut Frame, parsed: &Parsed, at: u8) -> Done {
    let at = usize::from(at);
    let byte = *frame.bytes().get(at).ok_or(DiscardReason::NotApplicable)?;
    let bytes = frame.bytes_mut();
    let header = usize::from(bytes[ETHERNET_BYTES..].first().map_or(0, |first| first & 15)) * 4;
    let checked = parsed.protocol == Protocol::Ipv4
        && at < ETHERNET_BYTES + header
        && !(IP_CHECKSUM_AT..IP_CHECKSUM_AT + 2).contains(&at);
    if checked {
        set_ip_byte(bytes, at, byte.wrapping_add(1));
    } else {
        bytes[at] = byte.wrapping_add(1);
    }
    Ok(())
}

/// One change of the label stack. The packet's own TTL was counted down already.
pub(crate) fn change_labels(frame: &mut Frame, parsed: &Parsed, change: Mpls) -> Done {
    let ttl = match parsed.protocol {
        Protocol::Ethernet => FIRST_TTL,
        _ => parsed.ttl - 1,
    };
    let labelled = parsed.protocol == Protocol::Mpls;
    match change {
        Mpls::Push(label) => {
            let bottom = if labelled { 0 } else { BOTTOM };
            let entry = label << 12 | bottom | u32::from(ttl);
            let fits = frame.insert(&entry.to_be_bytes());
            set_type(frame.bytes_mut(), MPLS);
            fits.then_some(()).ok_or(DiscardReason::NotApplicable)
        }
        _ if !labelled => Err(DiscardReason::NotApplicable),
        Mpls::Swap(label) => {
            let entry = label << 12 | stack_entry(frame.bytes()) & 0xfff;
            frame.bytes_mut()[ETHERNET_BYTES..][..LABEL_BYTES].copy_from_slice(&entry.to_be_bytes());
            Ok(())
        }
        Mpls::Pop => pop(frame, ttl),
    }
}

/// Removes the outermost label. The header below gets its TTL, if that is lower.
fn pop(frame: &mut Frame, ttl: u8) -> Done {
    let bottom = stack_entry(frame.bytes()) & BOTTOM != 0;
    let below = &frame.bytes()[ETHERNET_BYTES + LABEL_BYTES..];
    if !bottom {
        let lower = below
            .get(3)
            .copied()
            .ok_or(DiscardReason::NotApplicable)?
            .min(ttl);
        frame.remove(LABEL_BYTES);
        frame.bytes_mut()[ETHERNET_BYTES + 3] = lower;
        return Ok(());
    }
    match below.first().map(|first| first >> 4) {
        Some(4) => {
            ipv4(below)?;
            let lower = below[8].min(ttl);
            frame.remove(LABEL_BYTES);
            set_ip_byte(frame.bytes_mut(), IP_TTL_AT, lower);
            set_type(frame.bytes_mut(), IPV4);
        }
        Some(6) if below.len() >= 40 => {
            let lower = below[7].min(ttl);
            frame.remove(LABEL_BYTES);
            frame.bytes_mut()[ETHERNET_BYTES + 7] = lower;
            set_type(frame.bytes_mut(), IPV6);
        }
        _ => return Err(DiscardReason::NotApplicable),
    }
    Ok(())
}

/// One change of tunnels.
pub(crate) fn change_tunnel(frame: &mut Frame, parsed: &Parsed, change: Tunnel) -> Done {
    if parsed.protocol != Protocol::Ipv4 {
        return Err(DiscardReason::NotApplicable);
    }
    let ip = &frame.bytes()[ETHERNET_BYTES..];
    match change {
        Tunnel::Push(source, destination) => {
            let total = word(ip, 2).checked_add(20).ok_or(DiscardReason::NotApplicable)?;
            let mut outer = [0; 20];
            outer[0] = 0x45;
            outer[1] = ip[1];
            outer[2..4].copy_from_slice(&total.to_be_bytes());
            outer[6] = 0x40;
            (outer[8], outer[9]) = (FIRST_TTL, IP_IN_IP);
            outer[12..16].copy_from_slice(&source.octets());
            outer[16..20].copy_from_slice(&destination.octets());
            let checksum = !ones_complement_sum(&outer);
            outer[10..12].copy_from_slice(&checksum.to_be_bytes());
            frame
                .insert(&outer)
                .then_some(())
                .ok_or(DiscardReason::NotApplicable)
        }
        Tunnel::Pop => {
            let length = usize::from(ip[0] & 15) * 4;
            let whole = ip[9] == IP_IN_IP && word(ip, 6) & 0x3fff == 0;
            if !whole || ipv4(&ip[length..]).is_err() {
                return Err(DiscardReason::NotApplicable);
            }
            frame.remove(length);
            Ok(())
        }
    }
}

/// The L2 modifier: MACs of the interface in place of the packet's.
pub(crate) fn set_macs(frame: &mut Frame, vif: &Vif) {
    let bytes = frame.bytes_mut();
    if let Some(dmac) = vif.dmac {
        bytes[0..6].copy_from_slice(&dmac.0);
    }
    if let Some(smac) = vif.smac {
        bytes[6..12].copy_from_slice(&smac.0);
    }
}

/// One step of the L3 modifier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Ttl,
    Dscp(u8),
    CountUp(u8),
    Labels(Mpls),
    Tunnel(Tunnel),
}

/// The changes of an action, in order; the TTL first.
pub(crate) fn changes(action: &Action) -> impl Iterator<Item = Change> {
    let all = [
        Some(Change::Ttl),
        action.dscp.map(Change::Dscp),
        action.count_up.map(Change::CountUp),
        action.mpls.map(Change::Labels),
        action.tunnel.map(Change::Tunnel),
    ];
    all.into_iter().flatten()
}

/// Applies one change.
pub(crate) fn make(change: Change, frame: &mut Frame, parsed: &Parsed) -> Done {
    match change {
        Change::Ttl => count_ttl(frame, parsed),
        Change::Dscp(dscp) => set_dscp(frame, parsed, dscp),
        Change::CountUp(at) => count_up(frame, parsed, at),
        Change::Labels(change) => change_labels(frame, parsed, change),
        Change::Tunnel(change) => change_tunnel(frame, parsed, change),
    }
}

fn stack_entry(bytes: &[u8]) -> u32 {
    let entry = bytes[ETHERNET_BYTES..].first_chunk().copied();
    u32::from_be_bytes(entry.unwrap_or_default())
}

fn set_type(bytes: &mut [u8], kind: u16) {
    bytes[12..14].copy_from_slice(&kind.to_be_bytes());
}

/// Sets a byte of an IPv4 header and updates the checksum (RFC 1624, equation 3).
fn set_ip_byte(bytes: &mut [u8], at: usize, value: u8) {
    let even = at & !1;
    let before = word(bytes, even);
    bytes[at] = value;
    let sum = u32::from(!word(bytes, IP_CHECKSUM_AT)) + u32::from(!before) + u32::from(word(bytes, even));
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[IP_CHECKSUM_AT..IP_CHECKSUM_AT + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

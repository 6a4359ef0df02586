//! Keeps foreign packets out of the tunnels, whose UDP port accepts packets of any sender. `[ours]`
//!
//! Packets with the run's VXLAN numbers pass only if they come from the run's other hosts, through
//! the interface of the route there. No process of this host may send such packets, and this host
//! forwards none but theirs, so that a user of one host cannot impersonate it at another. Root on
//! the network between the hosts still can: against that, give the hosts addresses of a WireGuard
//! network.

use std::ops::Range;

use crate::error::Result;
use crate::netlink::{Firewall, Match, PORT, Then, Way};
use crate::network::Network;
use crate::network::hosts::Hosts;

const COUNTER: &str = "dropped";
/// Position of the VXLAN number, in bytes from the start of the UDP header.
const VNI_AT: u32 = 8 + 4;

/// The rules of a run on this host.
#[derive(Debug)]
pub struct Strangers {
    firewall: Firewall,
    reported: u64,
}

impl Strangers {
    /// Makes the rules for a network on several hosts; `None` for a network on this host only. The
    /// calling thread must be in the host's own namespace.
    ///
    /// # Errors
    /// The kernel has no packet filter, or not all of its parts.
    pub fn of(network: &Network) -> Result<Option<Strangers>> {
        let Some(hosts) = &network.description.hosts else {
            return Ok(None);
        };
        let vnis = hosts.vnis(network.division.vni_count());
        if vnis.is_empty() {
            return Ok(None);
        }
        Strangers::keep_out(network.description.run.as_str(), hosts, vnis).map(Some)
    }

    /// Makes the rules of a run for the VXLAN numbers `vnis`, which must not be empty.
    ///
    /// # Errors
    /// The kernel has no packet filter, or not all of its parts.
    pub fn keep_out(run: &str, hosts: &Hosts, vnis: Range<u32>) -> Result<Strangers> {
        let bytes = |vni: u32| vni.to_be_bytes()[1..].to_vec();
        let ours = [
            Match::UdpTo(PORT),
            Match::Between(VNI_AT, bytes(vnis.start), bytes(vnis.end - 1)),
        ];
        let mut firewall = Firewall::new(&format!("cubeyard-{run}"))?;
        firewall.add_counter(COUNTER);
        firewall.add_chain("hosts", None);
        for (_, host) in hosts
            .underlays
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != hosts.here)
        {
            let known = [Match::From(host.octets()), Match::CameByItsRoute];
            firewall.add_rule("hosts", &known, Then::Accept);
        }
        firewall.add_rule("hosts", &[], Then::CountAndDrop(COUNTER));
        firewall.add_chain("in", Some(Way::In));
        firewall.add_rule("in", &ours, Then::Ask("hosts"));
        firewall.add_chain("through", Some(Way::Through));
        // The others' own packets pass: this host may connect them, by a bridge whose packets the
        // kernel shows to this chain (`bridge-nf-call-iptables`, which Docker switches on).
        firewall.add_rule("through", &ours, Then::Ask("hosts"));
        firewall.add_chain("out", Some(Way::Out));
        let sent = [&ours[..], &[Match::FromSocket]].concat();
        firewall.add_rule("out", &sent, Then::CountAndDrop(COUNTER));
        firewall.commit()?;
        Ok(Strangers {
            firewall,
            reported: 0,
        })
    }

    /// Packets dropped since the last call.
    pub fn take_dropped(&mut self) -> Result<u64> {
        let dropped = self.firewall.counted(COUNTER)?;
        let new = dropped.saturating_sub(self.reported);
        self.reported = dropped;
        Ok(new)
    }
}

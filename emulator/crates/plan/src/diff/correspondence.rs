//! Matches the devices of two plans: the same device may have a new name.

use std::collections::HashMap;

use cubeyard_topology::{NodeId, SubwaysSpec, Topology, TopologySpec};

/// Devices before to devices after; one to one where defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Correspondence {
    after: Vec<Option<NodeId>>,
    /// How devices were matched, for people.
    pub rule: &'static str,
}

impl Correspondence {
    /// Match by place along the loop for a Subways upgrade of the same servers, by name for all
    /// else.
    pub fn between(before: &Topology, after: &Topology) -> Correspondence {
        if let (TopologySpec::Subways(old), TopologySpec::Subways(new)) = (before.spec(), after.spec())
            && let Some(upgrade) = LoopUpgrade::of(old, new)
        {
            return upgrade.correspondence(before, after);
        }
        Correspondence {
            after: by_name(before, after, |_| true),
            rule: "devices of the same name",
        }
    }

    /// The device after, if it is still there.
    pub fn after(&self, device: NodeId) -> Option<NodeId> {
        self.after.get(device as usize).copied().flatten()
    }
}

fn by_name(before: &Topology, after: &Topology, which: impl Fn(NodeId) -> bool) -> Vec<Option<NodeId>> {
    // Used for look-ups only, so the order of the hash map does not matter.
    let names: HashMap<String, NodeId> = (0..after.node_count()).map(|d| (after.node_name(d), d)).collect();
    (0..before.node_count())
        .map(|device| {
            let found = if which(device) {
                names.get(&before.node_name(device)).copied()
            } else {
                None
            };
            found.filter(|&other| before.is_server(device) == after.is_server(other))
        })
        .collect()
}

/// More ports a server with the same servers and ToR models: logical racks shrink from `q/p` to
/// `q/p'` servers and loops grow from `l` to `l p'/p` ToRs [subways §4.1, Fig. 2].
struct LoopUpgrade {
    /// Servers of a logical rack, before and after.
    rack_servers: [u32; 2],
    /// ToRs of a loop, before and after.
    loop_tors: [u32; 2],
    ports: [u32; 2],
    wiring_type: [u8; 2],
}

impl LoopUpgrade {
    /// Only if names would mislead: logical racks of another size, and the same servers along the
    /// loop.
    fn of(old: &SubwaysSpec, new: &SubwaysSpec) -> Option<LoopUpgrade> {
        let same_loops = old.clusters == new.clusters && old.loops_per_cluster == new.loops_per_cluster;
        let rack = |spec: &SubwaysSpec| spec.q.checked_div(spec.p);
        let rack_servers = [rack(old)?, rack(new)?];
        let same_servers = rack_servers[0] * old.l == rack_servers[1] * new.l;
        (same_loops && same_servers && rack_servers[0] != rack_servers[1] && rack_servers[1] > 0).then_some(
            LoopUpgrade {
                rack_servers,
                loop_tors: [old.l, new.l],
                ports: [old.p, new.p],
                wiring_type: [old.wiring_type, new.wiring_type],
            },
        )
    }

    /// First server (along the loop) wired to a ToR; ToR `t` serves logical racks from
    /// `t - floor((p-1)/2)` on.
    fn first_rack(&self, side: usize) -> u32 {
        if self.wiring_type[side] == 0 {
            0
        } else {
            (self.ports[side] - 1) / 2
        }
    }

    /// The ToR of the new plan whose run of servers starts at the same server; a ToR without such a
    /// match is a new switch.
    fn tor_after(&self, tor: u32) -> Option<u32> {
        let [old_rack, new_rack] = self.rack_servers;
        let servers = i64::from(old_rack) * i64::from(self.loop_tors[0]);
        let start = (i64::from(tor) - i64::from(self.first_rack(0))) * i64::from(old_rack);
        let start = start.rem_euclid(servers);
        (start % i64::from(new_rack) == 0).then(|| {
            let tor = start / i64::from(new_rack) + i64::from(self.first_rack(1));
            tor.rem_euclid(i64::from(self.loop_tors[1])) as u32
        })
    }

    fn correspondence(&self, before: &Topology, after: &Topology) -> Correspondence {
        let tor_tier = |topology: &Topology| {
            topology
                .tiers()
                .iter()
                .find(|t| t.role == "tor")
                .map(|t| (t.first, t.count))
        };
        let (old_tors, new_tors) = (tor_tier(before), tor_tier(after));
        let is_tor =
            |device: NodeId| old_tors.is_some_and(|(first, count)| device >= first && device - first < count);
        let mut found = by_name(before, after, |device| {
            !before.is_server(device) && !is_tor(device)
        });
        // Servers and ToRs are numbered loop by loop, rack by rack, so the position along the loop
        // is the id.
        for server in 0..before.server_count() {
            found[server as usize] = (server < after.server_count()).then_some(server);
        }
        if let (Some((old_first, count)), Some((new_first, new_count))) = (old_tors, new_tors) {
            for i in 0..count {
                let (in_loop, tor) = (i / self.loop_tors[0], i % self.loop_tors[0]);
                let other = self.tor_after(tor).map(|t| in_loop * self.loop_tors[1] + t);
                found[(old_first + i) as usize] = other.filter(|&o| o < new_count).map(|o| new_first + o);
            }
        }
        Correspondence {
            after: found,
            rule: "the same place along the loop",
        }
    }
}

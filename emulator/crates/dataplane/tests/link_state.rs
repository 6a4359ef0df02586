//! Link state over random networks in virtual time: it converges, each advertisement is accepted
//! once, and hostile messages are rejected, bounded or superseded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use cubeyard_dataplane::link_state::{
    Advertisement, Heard, LinkEnd, LinkState, MAX_LINKS, Plan, Refusal, Timing, is_newer,
};
use cubeyard_dataplane::protocol::Time;
use cubeyard_topology::NodeId;
use proptest::prelude::*;

const TIMING: Timing = Timing {
    refresh: Duration::from_secs(1),
    expire: Duration::from_secs(5),
    least_gap: Duration::from_millis(50),
};
const HOP: Duration = Duration::from_millis(1);

fn end(port: u8, neighbour: NodeId, far_port: u8) -> LinkEnd {
    LinkEnd {
        port,
        neighbour,
        far_port,
    }
}

/// Servers with one cable per port. An advertisement takes a millisecond per hop.
struct Net {
    plan: Plan,
    nodes: BTreeMap<NodeId, LinkState>,
    /// Working cables by server and port, with the far end.
    cables: BTreeMap<(NodeId, u8), (NodeId, u8)>,
    pulled: BTreeSet<(NodeId, u8)>,
    now: Time,
    waiting: VecDeque<(NodeId, u8, NodeId, Vec<u8>)>,
    sent: u64,
    /// How often each server has accepted each advertisement as new.
    taken: BTreeMap<(NodeId, NodeId, u32), u32>,
}

impl Net {
    fn new(servers: u32, pairs: &[(NodeId, NodeId)]) -> Net {
        let mut plan: Plan = (0..servers).map(|server| (server, BTreeSet::new())).collect();
        let mut cables = BTreeMap::new();
        for &(a, b) in pairs {
            let port = |plan: &Plan, server: NodeId| plan[&server].len() as u8;
            let (a_port, b_port) = (port(&plan, a), port(&plan, b));
            plan.get_mut(&a).unwrap().insert(end(a_port, b, b_port));
            plan.get_mut(&b).unwrap().insert(end(b_port, a, a_port));
            cables.insert((a, a_port), (b, b_port));
            cables.insert((b, b_port), (a, a_port));
        }
        let start = |server| (server, LinkState::new(server, plan.clone(), TIMING, Time::ZERO));
        Net {
            nodes: (0..servers).map(start).collect(),
            plan,
            cables,
            pulled: BTreeSet::new(),
            now: Time::ZERO,
            waiting: VecDeque::new(),
            sent: 0,
            taken: BTreeMap::new(),
        }
    }

    fn collect(&mut self) {
        for (&server, node) in &mut self.nodes {
            while let Some(message) = node.poll() {
                self.sent += 1;
                let (to, port) = self.cables[&(server, message.port)];
                assert_eq!(to, message.to);
                let carries = !self.pulled.contains(&(server, message.port));
                if carries {
                    self.waiting.push_back((to, port, server, message.bytes));
                }
            }
        }
    }

    fn step(&mut self) {
        self.now += HOP;
        let arriving = std::mem::take(&mut self.waiting);
        for (to, port, from, bytes) in arriving {
            let Some(node) = self.nodes.get_mut(&to) else {
                continue;
            };
            let heard = node.on_message(self.now, port, from, &bytes);
            assert!(matches!(heard, Ok(_) | Err(Refusal::Expired)), "{heard:?}");
            if let Ok(Heard::New { .. }) = heard {
                let advertisement = Advertisement::parse(&bytes).unwrap();
                let key = (to, advertisement.origin, advertisement.sequence);
                *self.taken.entry(key).or_default() += 1;
            }
        }
        for node in self.nodes.values_mut() {
            if self.now >= node.next_timeout() {
                node.on_timeout(self.now);
            }
        }
        self.collect();
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.step();
        }
    }

    /// Pulls or plugs a cable; both ends detect it at once.
    fn set_cable(&mut self, server: NodeId, port: u8, up: bool) {
        let far = self.cables[&(server, port)];
        for (near, far) in [((server, port), far), (far, (server, port))] {
            if up {
                self.pulled.remove(&near);
            } else {
                self.pulled.insert(near);
            }
            let (pulled, plan) = (&self.pulled, &self.plan[&near.0]);
            let links: Vec<LinkEnd> = plan
                .iter()
                .copied()
                .filter(|link| !pulled.contains(&(near.0, link.port)))
                .collect();
            if let Some(node) = self.nodes.get_mut(&near.0) {
                node.set_own(self.now, links);
                if up {
                    node.on_neighbour_alive(self.now, near.1, far.0);
                }
            }
        }
        self.collect();
    }

    /// The links that count for a server, given by both ends.
    fn links_seen_by(&self, server: NodeId) -> BTreeSet<(NodeId, LinkEnd)> {
        let all = self
            .plan
            .iter()
            .flat_map(|(&from, links)| links.iter().map(move |link| (from, *link)));
        all.filter(|(from, link)| self.nodes[&server].is_up(*from, *link))
            .collect()
    }

    fn links_that_work(&self) -> BTreeSet<(NodeId, LinkEnd)> {
        let all = self
            .plan
            .iter()
            .flat_map(|(&from, links)| links.iter().map(move |link| (from, *link)));
        all.filter(|(from, link)| {
            let ends = [(*from, link.port), (link.neighbour, link.far_port)];
            ends.iter()
                .all(|end| !self.pulled.contains(end) && self.nodes.contains_key(&end.0))
        })
        .collect()
    }

    /// The servers that a server reaches over working cables, including itself.
    fn component(&self, server: NodeId) -> BTreeSet<NodeId> {
        let working = self.links_that_work();
        let mut reached = BTreeSet::from([server]);
        loop {
            let before = reached.len();
            let next: Vec<NodeId> = working
                .iter()
                .filter(|(from, _)| reached.contains(from))
                .map(|(_, link)| link.neighbour)
                .collect();
            reached.extend(next);
            if reached.len() == before {
                return reached;
            }
        }
    }
}

/// A ring of servers, which makes the network connected, with some chords.
fn network() -> impl Strategy<Value = (u32, Vec<(NodeId, NodeId)>)> {
    (3u32..9).prop_flat_map(|servers| {
        let ring: Vec<(NodeId, NodeId)> = (0..servers)
            .map(|server| (server, (server + 1) % servers))
            .collect();
        let chord = (0..servers, 0..servers).prop_filter("two servers", |(a, b)| a != b);
        prop::collection::vec(chord, 0..6).prop_map(move |chords| (servers, [&ring[..], &chords].concat()))
    })
}

fn advertisement(origin: NodeId, sequence: u32, links: &[LinkEnd]) -> Vec<u8> {
    let links = links.iter().copied().collect();
    Advertisement {
        origin,
        sequence,
        age: Duration::ZERO,
        links,
    }
    .emit()
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    /// After cables are pulled and plugged, every server sees exactly the working links of its
    /// component, and has accepted each advertisement once. After all cables are plugged again,
    /// every server sees all links.
    #[test]
    fn all_servers_come_to_see_the_links_that_work((servers, pairs) in network(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), 0u64..200), 0..12)) {
        let mut net = Net::new(servers, &pairs);
        net.run(10);
        let cables: Vec<(NodeId, u8)> = net.cables.keys().copied().collect();
        for (cable, up, pause) in changes {
            let (server, port) = cables[cable.index(cables.len())];
            net.set_cable(server, port, up);
            net.run(pause);
        }
        // Servers that are cut off are forgotten once their links have expired.
        net.run(6500);
        let working = net.links_that_work();
        for server in 0..servers {
            let component = net.component(server);
            let expected: BTreeSet<_> = working.iter().copied().filter(|(from, _)| component.contains(from)).collect();
            prop_assert_eq!(net.links_seen_by(server), expected, "seen by {}", server);
        }
        prop_assert!(net.taken.values().all(|&times| times == 1));
        for (server, port) in cables {
            net.set_cable(server, port, true);
        }
        net.run(200);
        for server in 0..servers {
            prop_assert_eq!(net.links_seen_by(server), net.links_that_work());
        }
    }

    /// A flood costs at most one message per direction of every link, and the advertisements of a
    /// flapping cable are limited by the least gap.
    #[test]
    fn a_flapping_cable_causes_a_bounded_number_of_messages((servers, pairs) in network(), flaps in 1u64..200) {
        let mut net = Net::new(servers, &pairs);
        net.run(900);
        net.sent = 0;
        let started = net.now;
        for flap in 0..flaps {
            net.set_cable(0, 0, flap % 2 == 1);
            net.run(1);
        }
        net.run(100);
        let took = net.now - started;
        let floods = 2 * (took.as_millis() / TIMING.least_gap.as_millis() + 5) as u64 + u64::from(servers) * (took.as_secs() + 2);
        // Full states for a neighbour that is alive again, at most once per second from either
        // side, and the messages that it forwards because they are new to it.
        let states = 2 * u64::from(servers) * (took.as_secs() + 1);
        let directed = 2 * pairs.len() as u64;
        prop_assert!(net.sent <= (floods + states) * directed, "{} messages", net.sent);
    }

    /// Any bytes from a neighbour: no panic, strangers and unknown links are refused, and the true
    /// state returns soon after.
    #[test]
    fn hostile_messages_are_outlived(messages in prop::collection::vec((0u32..7, any::<u32>(), prop::collection::vec((0u8..4, 0u32..7, 0u8..4), 0..5), prop::collection::vec(any::<u8>(), 0..4)), 0..60)) {
        let pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)];
        let mut net = Net::new(5, &pairs);
        net.run(10);
        net.set_cable(2, 1, false);
        net.run(20);
        for (origin, sequence, links, tail) in messages {
            let links: Vec<LinkEnd> = links.into_iter().map(|(port, neighbour, far_port)| end(port, neighbour, far_port)).collect();
            let mut bytes = advertisement(origin, sequence, &links);
            bytes.extend(tail);
            let now = net.now;
            let outcome = net.nodes.get_mut(&0).unwrap().on_message(now, 0, 1, &bytes);
            if origin >= 5 || links.iter().any(|link| !net.plan[&origin].contains(link)) {
                prop_assert!(outcome.is_err());
            }
            net.collect();
            net.step();
        }
        net.run(3000);
        for server in 0..5 {
            prop_assert_eq!(net.links_seen_by(server), net.links_that_work());
        }
    }

    #[test]
    fn an_advertisement_survives_its_bytes_and_others_are_refused(origin in any::<u32>(), sequence in any::<u32>(), age in any::<u16>(), links in prop::collection::btree_set((any::<u8>(), any::<u32>(), any::<u8>()), 0..MAX_LINKS), cut in any::<prop::sample::Index>()) {
        let links: BTreeSet<LinkEnd> = links.into_iter().map(|(port, neighbour, far_port)| end(port, neighbour, far_port)).collect();
        let whole = Advertisement { origin, sequence, age: Duration::from_millis(age.into()), links };
        let bytes = whole.emit();
        prop_assert_eq!(Advertisement::parse(&bytes), Some(whole));
        prop_assert_eq!(Advertisement::parse(&bytes[..cut.index(bytes.len())]), None);
        prop_assert_eq!(Advertisement::parse(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn of_two_numbers_at_most_one_is_newer(one in any::<u32>(), ahead in 1u32..0x8000_0000) {
        let other = one.wrapping_add(ahead);
        prop_assert!(is_newer(other, one) || ahead == 0x8000_0000);
        prop_assert!(!is_newer(one, other) && !is_newer(one, one));
    }
}

/// A server with a single neighbour, which can send any message.
fn pair() -> LinkState {
    let plan = Plan::from([
        (0, BTreeSet::from([end(0, 1, 0), end(1, 9, 1)])),
        (1, BTreeSet::from([end(0, 0, 0), end(1, 2, 0)])),
        (2, BTreeSet::from([end(0, 1, 1)])),
    ]);
    LinkState::new(0, plan, TIMING, Time::ZERO)
}

#[test]
fn a_link_counts_only_if_both_ends_report_it_and_one_that_leaves_the_scope_by_its_near_end() {
    let mut state = pair();
    let now = Duration::from_millis(1);
    assert!(
        state.is_up(0, end(0, 1, 0)) && state.is_up(1, end(1, 2, 0)),
        "counts as alive at first"
    );
    assert!(state.is_up(0, end(1, 9, 1)), "9 is not in the scope");
    let denied = state.on_message(now, 0, 1, &advertisement(2, 1, &[]));
    assert_eq!(denied, Ok(Heard::New { changed: true }));
    assert!(!state.is_up(1, end(1, 2, 0)) && !state.is_up(2, end(0, 1, 1)));
    state.set_own(now, [end(0, 1, 0)]);
    assert!(!state.is_up(0, end(1, 9, 1)));
}

#[test]
fn replays_strangers_and_oversized_messages_change_nothing() {
    let mut state = pair();
    let now = Duration::from_millis(1);
    let new = advertisement(1, u32::MAX, &[end(0, 0, 0)]);
    assert_eq!(
        state.on_message(now, 0, 1, &new),
        Ok(Heard::New { changed: true })
    );
    let wrapped = advertisement(1, 3, &[end(0, 0, 0), end(1, 2, 0)]);
    assert_eq!(
        state.on_message(now, 0, 1, &wrapped),
        Ok(Heard::New { changed: true }),
        "the number has wrapped"
    );
    for replay in [&new, &wrapped] {
        assert_eq!(state.on_message(now, 0, 1, replay), Ok(Heard::Duplicate));
    }
    assert!(state.is_up(1, end(1, 2, 0)));
    let refused = |state: &mut LinkState, port, from, bytes: &[u8]| {
        state.on_message(now, port, from, bytes).unwrap_err()
    };
    assert_eq!(refused(&mut state, 0, 2, &wrapped), Refusal::Stranger);
    assert_eq!(
        refused(&mut state, 1, 9, &wrapped),
        Refusal::Stranger,
        "a neighbour out of the scope"
    );
    assert_eq!(
        refused(&mut state, 0, 1, &advertisement(7, 1, &[])),
        Refusal::UnknownOrigin
    );
    assert_eq!(
        refused(&mut state, 0, 1, &advertisement(2, 1, &[end(0, 0, 0)])),
        Refusal::UnknownLink
    );
    let many: Vec<LinkEnd> = (0..=MAX_LINKS as u32)
        .map(|neighbour| end(0, neighbour, 0))
        .collect();
    assert_eq!(
        refused(&mut state, 0, 1, &advertisement(1, 4, &many)),
        Refusal::Malformed
    );
    let old = Advertisement {
        origin: 2,
        sequence: 1,
        age: TIMING.expire,
        links: BTreeSet::new(),
    };
    assert_eq!(refused(&mut state, 0, 1, &old.emit()), Refusal::Expired);
}

#[test]
fn an_origin_that_sends_too_many_is_cut_to_a_rate_and_hurts_no_other() {
    let mut state = pair();
    let now = Duration::from_millis(1);
    let flood = (1..1000u32).filter(|&sequence| {
        state
            .on_message(now, 0, 1, &advertisement(2, sequence, &[]))
            .is_ok()
    });
    assert_eq!(flood.count(), 100, "two seconds' worth at once");
    assert!(state.on_message(now, 0, 1, &advertisement(1, 1, &[])).is_ok());
}

#[test]
fn advertisements_that_are_not_refreshed_expire_and_a_replay_does_not_restore_them() {
    let mut state = pair();
    let message = advertisement(1, 5, &[end(0, 0, 0), end(1, 2, 0)]);
    state.on_message(Duration::ZERO, 0, 1, &message).unwrap();
    state.on_timeout(Duration::from_millis(4999));
    assert!(state.is_up(0, end(0, 1, 0)));
    assert!(state.on_timeout(Duration::from_secs(5)));
    assert!(!state.is_up(0, end(0, 1, 0)) && !state.is_up(1, end(1, 2, 0)));
    assert_eq!(
        state.on_message(Duration::from_secs(6), 0, 1, &message),
        Ok(Heard::Duplicate)
    );
    assert!(!state.is_up(0, end(0, 1, 0)));
}

#[test]
fn a_server_that_forgot_its_number_is_believed_again_within_a_round_trip() {
    let pairs = [(0, 1), (1, 2), (2, 0)];
    let mut net = Net::new(3, &pairs);
    net.run(20_000);
    let (plan, now) = (net.plan.clone(), net.now);
    net.nodes.insert(0, LinkState::new(0, plan, TIMING, now));
    net.set_cable(0, 0, false);
    net.run(150);
    for server in 0..3 {
        assert_eq!(
            net.links_seen_by(server),
            net.links_that_work(),
            "seen by {server}"
        );
    }
}

//! PortLand on 20 chips: all pairs, several ways, failures, and no loop.

use std::collections::BTreeSet;

use cubeyard_chip::portland::{
    Control, DETECTION_MICROS, Delivered, Network, News, RETRY_MICROS, SILENT_LOOKS, Tree, ip_of, trial,
};
use cubeyard_chip::{Place, Table, text};
use proptest::prelude::*;

/// Every pair of hosts sends by two flows: who got what.
fn all_pairs(network: &mut Network) -> BTreeSet<(u32, u32, u16)> {
    let hosts = network.tree().hosts();
    for from in hosts.clone() {
        for to in hosts.clone().filter(|&to| to != from) {
            for port in 0..4 {
                network.send(from, to, port, &[from as u8, to as u8, port as u8]);
            }
        }
    }
    let mut got = BTreeSet::new();
    for Delivered {
        host,
        from,
        from_mac,
        payload,
    } in network.run()
    {
        let sender = u32::from(payload[0]);
        assert_eq!(
            (u32::from(payload[1]), from),
            (host, ip_of(sender)),
            "to whom it was sent"
        );
        assert_eq!(
            from_mac,
            network.pmac_of(sender).unwrap().mac(),
            "hosts see PMACs"
        );
        assert!(got.insert((sender, host, u16::from(payload[2]))), "once");
    }
    got
}

#[test]
fn all_pairs_reach_each_other_by_pmacs_that_name_their_places() {
    let mut network = Network::new();
    assert_eq!(network.tree().switches().len(), 20);
    assert_eq!(all_pairs(&mut network).len(), 16 * 15 * 4);
    assert_eq!(network.most_switches(), 5);
    for host in network.tree().hosts() {
        let (edge, port) = network.tree().edge_of(host);
        let pmac = network.pmac_of(host).unwrap();
        assert_eq!((pmac.pod, pmac.position), network.tree().place(edge));
        assert_eq!(pmac.port, port);
    }
    for switch in network.tree().switches() {
        let program = text::read(&network.program_of(switch)).unwrap();
        assert!(program.table(Table::Tcam).len() <= 40);
        assert!(
            program
                .entry(Place {
                    table: Table::EmMac,
                    i: 0
                })
                .is_none()
        );
    }
}

#[test]
fn flows_of_one_pair_take_four_ways_through_the_core() {
    let mut ways = BTreeSet::new();
    for port in 0..4 {
        let trial = trial("000", "311", port, &[]).unwrap();
        let path: Vec<String> = trial.attempts[0]
            .visits
            .iter()
            .filter(|visit| visit.kind == "packet")
            .map(|visit| visit.switch.clone())
            .collect();
        assert_eq!(path.len(), 5, "{path:?}");
        ways.insert(path[2].clone());
    }
    assert_eq!(ways.len(), 4);
}

#[test]
fn a_core_that_fails_loses_packets_until_it_is_found_and_none_after() {
    let tree = Tree::new();
    for core in tree.switches().filter(|&switch| tree.layer(switch) == 2) {
        let mut network = Network::new();
        let whole = all_pairs(&mut network);
        network.set_node(core, false);
        let failed = network.now_micros();
        for port in 0..4 {
            network.send(0, 15, port, b"lost");
        }
        let got = network.run_until(failed + DETECTION_MICROS / 2);
        assert_eq!(got.len(), 3, "a quarter of the flows goes by that core");
        let _ = network.run();
        assert_eq!(all_pairs(&mut network), whole);
        network.set_node(core, true);
        let _ = network.run();
        assert_eq!(all_pairs(&mut network), whole);
        assert_eq!(network.most_switches(), 5);
    }
}

#[test]
fn a_trial_tells_the_way_before_and_after() {
    let found = trial("000", "311", 0, &[]).unwrap();
    let core = found.attempts[0]
        .visits
        .iter()
        .rfind(|visit| visit.kind == "packet" && visit.trace.sent.iter().any(|sent| !sent.cpu))
        .map(|_| {
            let packets: Vec<_> = found.attempts[0]
                .visits
                .iter()
                .filter(|visit| visit.kind == "packet")
                .collect();
            packets[2].switch.clone()
        })
        .unwrap();
    assert_eq!(found.pairs, 240);
    let found = trial("000", "311", 0, std::slice::from_ref(&core)).unwrap();
    let arrived: Vec<bool> = found.attempts.iter().map(|attempt| attempt.arrived).collect();
    assert_eq!(arrived, [true, false, true]);
    let last = found.attempts[2].visits.iter().map(|visit| visit.switch.as_str());
    assert!(!last.collect::<Vec<_>>().contains(&core.as_str()));
    assert_eq!(found.pairs, 240);
    for (from, to, failures, code) in [
        ("9", "311", vec![], "no-node"),
        ("000", "000", vec![], "same-host"),
        ("000", "311", vec!["nothing"], "no-node"),
        ("000", "311", vec!["000/311"], "no-link"),
        (core.as_str(), "311", vec![], "no-host"),
    ] {
        let failures: Vec<String> = failures.into_iter().map(str::to_owned).collect();
        assert_eq!(trial(from, to, 0, &failures).unwrap_err().code, code);
    }
}

#[test]
fn a_host_that_nobody_knows_is_found_by_asking_all_edges() {
    let mut network = Network::new();
    network.send(3, 12, 9, b"first");
    let got = network.run();
    assert_eq!((got.len(), got[0].host, &*got[0].payload), (1, 12, &b"first"[..]));
    assert!(network.pmac_of(12).is_some() && network.pmac_of(5).is_none());
    network.forget();
    network.send(12, 3, 9, b"back");
    assert_eq!(network.run().len(), 1, "the fabric manager knows both now");
}

/// Looks of all edges, and what hosts have got meanwhile.
fn looks(network: &mut Network, times: u32) -> Vec<Delivered> {
    let look = |_| {
        network.look();
        network.run()
    };
    (0..times).flat_map(look).collect()
}

#[test]
fn a_silent_host_is_forgotten_and_comes_back_by_its_answer() {
    let mut network = Network::new();
    let _ = all_pairs(&mut network);
    let pmac = network.pmac_of(12);
    assert_eq!(
        looks(&mut network, 3 * SILENT_LOOKS),
        [],
        "hosts that answer stay, and probes are no packets"
    );
    assert!(network.tree().hosts().all(|host| network.pmac_of(host).is_some()));
    let edge = network.tree().edge_of(12).0;
    let whole = network.program_of(edge);

    network.set_silent(12, true);
    looks(&mut network, SILENT_LOOKS);
    assert_eq!(network.pmac_of(12), pmac, "a moment's silence is none");
    looks(&mut network, 1);
    assert_eq!(network.pmac_of(12), None);
    assert!(network.program_of(edge).lines().count() < whole.lines().count());
    assert!(
        network
            .tree()
            .hosts()
            .filter(|host| *host != 12)
            .all(|host| network.pmac_of(host).is_some())
    );
    network.forget();
    network.send(3, 12, 9, b"lost");
    network.send(3, 13, 9, b"found");
    let got = network.run();
    assert_eq!(
        (got.len(), got[0].host),
        (1, 13),
        "its neighbour at the edge is reached"
    );

    network.set_silent(12, false);
    looks(&mut network, 1);
    assert_eq!(network.pmac_of(12), pmac, "those who know its PMAC may go on");
    assert_eq!(network.program_of(edge), whole);
    assert_eq!(all_pairs(&mut network).len(), 16 * 15 * 4);
}

#[test]
fn one_that_sends_and_one_that_has_another_card_are_not_silent() {
    let mut control = Control::new();
    let arp = |mac: u8| {
        let mut frame = [[0xff; 6], [2, 0, 0, 0, 0, mac]].concat();
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, mac]);
        frame.extend([&ip_of(0).octets()[..], &[0; 6], &ip_of(0).octets()].concat());
        frame
    };
    let edge = control.tree().edge_of(0).0;
    assert_eq!(
        control.on_packet(edge, 0, &arp(1)).changed,
        BTreeSet::from([edge])
    );
    for look in 0..u64::from(3 * SILENT_LOOKS) {
        let effects = control.look(&|_, _| look);
        assert_eq!((effects.changed.len(), effects.frames.len()), (0, 1), "it sends");
    }
    let old = control.hosts_of(edge)[0];
    control.on_packet(edge, 0, &arp(9));
    let new = control.hosts_of(edge)[0];
    assert!(old.pmac != new.pmac && new.mac.0[5] == 9 && !new.is_silent);
    let effects: Vec<_> = (0..=SILENT_LOOKS).map(|_| control.look(&|_, _| 77)).collect();
    assert_eq!(effects[SILENT_LOOKS as usize].changed, BTreeSet::from([edge]));
    assert!(control.hosts_of(edge)[0].is_silent);
    // A host that sends a request without an address is not recorded.
    let mut nameless = arp(9);
    nameless[28..32].fill(0);
    assert!(control.on_packet(edge, 0, &nameless).changed.is_empty());
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]
    /// For any failures between switches, and while switches learn of them one by one: no packet
    /// passes more than five switches, and in the end all pairs with a path up and down reach each
    /// other.
    #[test]
    fn no_failure_makes_a_loop(failures in proptest::collection::vec((16_u32..36, 0_u8..4, any::<bool>()), 0..7), gap in 0_u64..3_000) {
        let mut network = Network::new();
        let _ = all_pairs(&mut network);
        for (switch, port, whole) in failures {
            let (next, _) = network.tree().end(switch, port).unwrap();
            let at_edge = network.tree().layer(switch) == 0;
            if whole && !at_edge {
                network.set_node(switch, false);
            } else if next >= 16 {
                network.set_link(switch, next, false).unwrap();
            }
        }
        let failed = network.now_micros();
        for step in 0..8 {
            let _ = network.run_until(failed + DETECTION_MICROS + gap + step * 300);
            for from in 0..16 {
                network.send(from, (from + 7) % 16, step as u16, &[from as u8, 0, 0]);
            }
        }
        let _ = network.run();
        let got = all_pairs(&mut network);
        prop_assert!(network.most_switches() <= 5);
        let tree = network.tree();
        for from in tree.hosts() {
            for to in tree.hosts().filter(|&to| to != from) {
                let (here, there) = (tree.edge_of(from).0, tree.edge_of(to).0);
                let reachable = here == there || !tree.ways(here, there).is_empty();
                for port in 0..4 {
                    prop_assert_eq!(got.contains(&(from, to, port)), reachable, "{} to {} by {}", from, to, port);
                }
            }
        }
    }
}

/// The control of real switches has the programs with which the network in virtual time ends,
/// regardless of how frames are carried.
#[test]
fn control_without_time_ends_with_the_same_programs() {
    let mut network = Network::new();
    let _ = all_pairs(&mut network);
    let tree = Tree::new();
    let mut control = Control::new();
    let mac = |host: u32| [0x02, 0xc0, 0xff, 0, 0, host as u8];
    let arp = |is_reply: bool, (from, to): (u32, u32), target: [u8; 6]| {
        let mut frame = [if is_reply { target } else { [0xff; 6] }, mac(from)].concat();
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, if is_reply { 2 } else { 1 }]);
        frame.extend(
            [
                &mac(from)[..],
                &ip_of(from).octets(),
                &target,
                &ip_of(to).octets(),
            ]
            .concat(),
        );
        frame
    };
    // In the order of the network's events: each host sends a request for the next one, which
    // answers it.
    for from in tree.hosts() {
        let to = (from + 1) % 16;
        let (edge, port) = tree.edge_of(from);
        let effects = control.on_packet(edge, port, &arp(false, (from, to), [0; 6]));
        for (switch, port, frame) in effects.frames {
            let (host, _) = tree.end(switch, port).unwrap();
            if host == to && frame[21] == 1 {
                let asker: [u8; 6] = frame[22..28].try_into().unwrap();
                control.on_packet(switch, port, &arp(true, (to, from), asker));
            }
        }
    }
    for switch in tree.switches() {
        assert_eq!(
            control.hosts_of(switch).len(),
            if tree.layer(switch) == 0 { 2 } else { 0 }
        );
        for host in control.hosts_of(switch) {
            assert_eq!(host.pmac.port, host.port);
            let (id, _) = tree.end(switch, host.port).unwrap();
            assert_eq!((host.address, host.mac.0), (ip_of(id), mac(id)));
        }
        // Hosts were met in another order, so their numbers may differ, and nothing else.
        let lines = |text: &str| text::print(&text::read(text).unwrap()).lines().count();
        assert_eq!(
            lines(&control.program_of(switch)),
            network.program_of(switch).lines().count()
        );
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(64))]
    /// For any failures between switches: a flow's path goes up and down over live links, and
    /// exists whenever the tree has such a path.
    #[test]
    fn paths_avoid_what_has_failed(failures in proptest::collection::vec((16_u32..36, 0_u8..4), 0..9), from in 0_u32..16, to in 0_u32..16, port: u16) {
        prop_assume!(from != to);
        let mut control = Control::new();
        let whole = Tree::new();
        let links: BTreeSet<(u32, u32)> = failures
            .into_iter()
            .filter_map(|(switch, port)| Some((switch, whole.end(switch, port)?.0)))
            .filter(|&(_, other)| other >= 16)
            .collect();
        let changed = control.on_failures(&links);
        prop_assert_eq!(changed.changed.is_empty(), links.is_empty());
        let path = control.path([from, to], port);
        let tree = control.tree();
        let (here, there) = (tree.edge_of(from).0, tree.edge_of(to).0);
        prop_assert_eq!(!path.is_empty(), here == there || !tree.ways(here, there).is_empty());
        let distinct: BTreeSet<_> = path.iter().collect();
        prop_assert!(path.len() <= 7 && distinct.len() == path.len());
        for pair in path.windows(2) {
            let out = (0..4).find(|&out| tree.end(pair[0], out).is_some_and(|end| end.0 == pair[1]));
            prop_assert!(out.is_some_and(|out| tree.passes(pair[0], out)));
        }
        control.on_failures(&BTreeSet::new());
        prop_assert_eq!(control.program_of(16), Control::new().program_of(16));
    }
}

/// Frames by which hosts speak of themselves and ask for others: an ARP request.
fn arp(from: u32, to: u32) -> Vec<u8> {
    let (sender, target) = (ip_of(from).octets(), ip_of(to).octets());
    let mac = [2, 0, 0, 0, 1, from as u8];
    let head = [
        &[0xff; 6][..],
        &mac,
        &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
        &mac,
        &sender,
        &[0; 6],
        &target,
    ];
    head.concat()
}

/// Events at the edges.
#[derive(Clone, Debug)]
enum Happens {
    /// A host requests another host's MAC; the other does not answer.
    Asks(u32, u32),
    /// The edges look, and these hosts have sent nothing since the last look, a bit each.
    Looks(u16),
    /// One link of the tree is dead alone, or none.
    Fails(Option<usize>),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0..16_u32, 0..16_u32).prop_map(|(from, to)| Happens::Asks(from, to)),
        4 => any::<u16>().prop_map(Happens::Looks),
        1 => proptest::option::of(0..48_usize).prop_map(Happens::Fails),
    ]
}

/// The final state after all events: programs, and the fabric manager's table.
fn carry_out(control: &mut Control, all: &[Happens], looks_after: usize) -> (Vec<String>, Vec<String>) {
    let tree = Tree::new();
    let mut counts = [0_u64; 16];
    let mut look = |control: &mut Control, quiet: u16| {
        for (host, count) in counts.iter_mut().enumerate() {
            *count += u64::from(quiet >> host & 1 == 0);
        }
        control.look(&|switch, port| {
            let host = tree.end(switch, port).map_or(16, |(host, _)| host as usize);
            counts.get(host).copied().unwrap_or(0)
        })
    };
    for item in all {
        match *item {
            Happens::Asks(from, to) => {
                let (edge, port) = tree.edge_of(from);
                control.on_packet(edge, port, &arp(from, to));
            }
            Happens::Looks(quiet) => drop(look(control, quiet)),
            Happens::Fails(link) => {
                let links = tree.topology().links();
                let dead = link.map(|link| (links.a[link], links.b[link]));
                control.on_failures(&dead.into_iter().collect());
            }
        }
    }
    for _ in 0..looks_after {
        look(control, 0);
    }
    let programs = tree.switches().map(|switch| control.program_of(switch)).collect();
    let known = tree
        .hosts()
        .map(|host| format!("{:?}", control.pmac(ip_of(host))));
    (programs, known.collect())
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    /// For any losses between the CPUs and the fabric manager, as long as the losses end.
    #[test]
    fn tables_and_what_the_manager_knows_become_those_of_a_channel_that_loses_nothing(
        all in proptest::collection::vec(happens(), 1..40),
        losses in proptest::collection::vec(any::<bool>(), 0..400),
    ) {
        let (mut whole, mut lossy) = (Control::new(), Control::new());
        let expected = carry_out(&mut whole, &all, 0);
        prop_assert_eq!(whole.channel().next_at(), None, "nothing waits where nothing is lost");
        lossy.channel().lose(losses.iter().copied());
        let looks = losses.len() + 2;
        // Hosts that speak are not forgotten by looks that follow.
        let whole_after = carry_out(&mut Control::new(), &all, looks);
        let found = carry_out(&mut lossy, &all, looks);
        prop_assert_eq!(&found, &whole_after);
        prop_assert_eq!(&found.0, &expected.0, "looks at hosts that speak change nothing");
        prop_assert_eq!(lossy.channel().next_at(), None, "everything is confirmed");
    }
}

#[test]
fn packets_arrive_whatever_is_lost_between_the_cpus_and_the_manager() {
    let mut network = Network::new();
    // Three of four, as long as there are any.
    network.channel().lose((0..6000).map(|at| at % 4 != 0));
    let began = network.now_micros();
    assert_eq!(all_pairs(&mut network).len(), 16 * 15 * 4);
    assert!(network.channel().lost() > 1000, "{}", network.channel().lost());
    assert!(network.now_micros() > began + 3 * RETRY_MICROS);
    let core = network.tree().switches().last().unwrap();
    network.channel().lose((0..400).map(|at| at % 2 == 0));
    network.set_node(core, false);
    let _ = network.run();
    assert_eq!(
        all_pairs(&mut network).len(),
        16 * 15 * 4,
        "around a core that failed"
    );
}

#[test]
fn a_silent_host_and_its_return_are_told_once() {
    let tree = Tree::new();
    let mut control = Control::new();
    let (edge, port) = tree.edge_of(5);
    control.on_packet(edge, port, &arp(5, 6));
    let mut told = Vec::new();
    for _ in 0..2 * SILENT_LOOKS {
        told.extend(control.look(&|_, _| 0).news);
    }
    let news = |is_silent| News {
        edge,
        host: 5,
        is_silent,
    };
    assert_eq!(told, [news(true)]);
    assert_eq!(control.on_packet(edge, port, &arp(5, 6)).news, [news(false)]);
    assert_eq!(control.on_packet(edge, port, &arp(5, 6)).news, []);
}

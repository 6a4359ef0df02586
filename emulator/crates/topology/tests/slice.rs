use crate::common;

use common::{any_spec, build, cases, has_error};
use cubeyard_topology::{Slice, SliceOfServers, SliceWithin, Topology};
use proptest::prelude::*;

fn within(server: &str, k: u32) -> Slice {
    Slice::Within(SliceWithin {
        within: server.to_owned(),
        k,
    })
}

fn servers(names: &[&str]) -> Slice {
    Slice::Servers(SliceOfServers {
        servers: names.iter().map(|&name| name.to_owned()).collect(),
    })
}

fn names(topology: &Topology, nodes: &[u32]) -> Vec<String> {
    nodes.iter().map(|&node| topology.node_name(node)).collect()
}

#[test]
fn the_bcube_within_a_larger_one_is_complete() {
    let topology = build(r#"{"family":"bcube","n":4,"k":2}"#);
    let part = topology.slice(&within("213", 1)).unwrap();
    assert_eq!(part.servers.len(), 16);
    assert!(
        names(&topology, &part.servers)
            .iter()
            .all(|name| name.starts_with('2'))
    );
    // A BCube(4,1): 4 switches of 4 ports on each of two levels; level-2 switches have one server
    // each and are left out.
    assert_eq!((part.switches.len(), part.links.len()), (8, 32));
    assert!(!part.is_whole());
    assert_eq!(part.outside.len(), 48);
    assert!(topology.slice(&within("213", 2)).unwrap().is_whole());
    assert_eq!(topology.slice(&within("213", 9)).unwrap(), topology.whole());
}

#[test]
fn the_dcell_within_a_larger_one_is_complete() {
    let topology = build(r#"{"family":"dcell","n":3,"k":2}"#);
    let part = topology.slice(&within("[4,1,2]", 1)).unwrap();
    assert_eq!(part.servers.len(), 12);
    assert!(
        names(&topology, &part.servers)
            .iter()
            .all(|name| name.starts_with("[4,"))
    );
    // Four DCell_0s of three servers, and a link between each two of them.
    assert_eq!((part.switches.len(), part.links.len()), (4, 12 + 6));
}

#[test]
fn a_partial_bcube_ends_within_a_slice() {
    let topology = build(r#"{"family":"bcube","n":4,"k":1,"servers":12}"#);
    assert_eq!(topology.slice(&within("23", 0)).unwrap().servers, [8, 9, 10, 11]);
    assert_eq!(topology.slice(&within("23", 1)).unwrap().servers.len(), 12);
}

#[test]
fn wrong_slices_say_which_field_and_how_to_repair_it() {
    let bcube = build(r#"{"family":"bcube","n":4,"k":1}"#);
    let torus = build(r#"{"family":"torus3d","x":3,"y":3,"z":3}"#);
    let cases = [
        (&bcube, servers(&["00", "99"]), "slice.servers.1", "99"),
        (&bcube, servers(&["00", "<0,0>"]), "slice.servers.1", "<0,0>"),
        (&bcube, servers(&["00", "00"]), "slice", "1 server"),
        (&bcube, servers(&[]), "slice", "0 server"),
        (&bcube, within("44", 1), "slice.within", "44"),
        (
            &torus,
            within("(0,0,0)", 1),
            "slice.within",
            "no smaller structures",
        ),
    ];
    for (topology, slice, field, says) in cases {
        let error = topology.slice(&slice).unwrap_err();
        let finding = &error.findings[0];
        assert_eq!(finding.field, field, "{slice:?}");
        assert!(finding.message.contains(says), "{}", finding.message);
        assert!(!finding.hint.is_empty() && finding.value.is_some(), "{slice:?}");
    }
}

proptest! {
    #![proptest_config(cases(128))]

    /// Every switch of a slice is above one of its servers and joins two of its parts; no switch
    /// outside
/// does. Every link has both ends in the slice, and no link between two of its nodes is missing.
    #[test]
    fn slices_are_closed(spec in any_spec(300), seed in any::<u64>()) {
        prop_assume!(!has_error(&spec));
        let topology = Topology::build(&spec).unwrap();
        let chosen: Vec<u32> = (0..topology.server_count())
            .filter(|&server| (seed >> (server % 61)) & 1 == 1)
            .collect();
        let slice = Slice::Servers(SliceOfServers { servers: names(&topology, &chosen) });
        let Ok(part) = topology.slice(&slice) else {
            prop_assert!(chosen.len() < 2);
            return Ok(());
        };
        prop_assert_eq!(&part.servers, &chosen);
        prop_assert_eq!(part.servers.len() + part.outside.len(), topology.server_count() as usize);
        if part.is_whole() {
            prop_assert_eq!(part, topology.whole());
            return Ok(());
        }
        let links = topology.links();
        let has = |node: u32| part.servers.binary_search(&node).is_ok() || part.switches.binary_search(&node).is_ok();
        let mut ends = vec![0; topology.node_count() as usize];
        let mut is_above: Vec<bool> = (0..topology.node_count()).map(|node| chosen.binary_search(&node).is_ok()).collect();
        let mut by_level: Vec<usize> = (0..links.len()).collect();
        by_level.sort_by_key(|&link| links.level[link]);
        for link in by_level {
            let (a, b) = (links.a[link], links.b[link]);
            let is_in = part.links.binary_search(&(link as u32)).is_ok();
            prop_assert_eq!(is_in, has(a) && has(b));
            if !topology.is_server(b) {
                is_above[b as usize] |= is_above[a as usize];
            }
            for (near, far) in [(a, b), (b, a)] {
                ends[far as usize] += u32::from(has(near));
            }
        }
        for switch in topology.server_count()..topology.node_count() {
            // Without tiers all switches are between the servers, as long as they join anything.
            let (ends, is_above) = (ends[switch as usize], is_above[switch as usize] || !topology.has_tiers());
            prop_assert_eq!(has(switch), is_above && ends > 1, "switch {} with {} ends", switch, ends);
        }
    }
}

//! Every device finds a rack unit, as long as nothing in the spec forbids it.

use cubeyard_plan::{Book, Layout};
use cubeyard_plan::{builtin_book, builtin_books, lay_out, read_spec};
use cubeyard_topology::{Finding, Topology};
use proptest::prelude::*;
use serde_json::{Value, json};

fn laid_out(spec: &Value, book: &Book) -> (Topology, Layout, Vec<Finding>) {
    let spec = read_spec(&spec.to_string()).unwrap();
    let topology = Topology::build(&spec.topology).unwrap();
    let mut findings = Vec::new();
    let layout = lay_out(&spec, &topology, book, &mut findings);
    (topology, layout, findings)
}

fn books() -> Vec<Book> {
    builtin_books()
        .into_iter()
        .map(|text| Book::from_json(text).unwrap())
        .collect()
}

/// Three racks: the first two get more than their share of level-2 switches, and the third has
/// room.
#[test]
fn switches_move_to_the_rack_that_has_room() {
    for book in books() {
        let (topology, layout, findings) =
            laid_out(&json!({"family": "bcube", "n": 6, "k": 2, "servers": 180}), &book);
        assert!(
            !findings.iter().any(|finding| finding.code == "rack-over-units"),
            "{findings:?}"
        );
        assert!(layout.placements.unit.iter().all(|&unit| unit > 0));
        // Servers stay with their BCube_1; switches of levels 0 and 1 stay with their servers.
        let rack = &layout.placements.rack;
        for link in 0..topology.link_count() {
            let links = topology.links();
            if links.level[link] < 2 {
                assert_eq!(
                    rack[links.a[link] as usize], rack[links.b[link] as usize],
                    "link {link}"
                );
            }
        }
    }
}

/// The paper's container is packed as printed: nothing moves where everything fits. `[bcube §5.2]`
#[test]
fn the_papers_container_is_as_printed() {
    let book = builtin_book("paper-2009").unwrap();
    let (topology, layout, _) = laid_out(
        &json!({"family": "bcube", "n": 8, "k": 3, "servers": 2048}),
        &book,
    );
    for rack in 0..32 {
        let of_level = |level: u8| {
            let tier = topology.tiers().iter().find(|tier| tier.level == level).unwrap();
            (tier.first..tier.first + tier.count)
                .filter(|&switch| layout.placements.rack[switch as usize] == rack)
                .count()
        };
        assert_eq!([0, 1, 2, 3].map(of_level), [8, 8, 8, 16], "rack {rack}");
    }
}

fn any_structure() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2u32..13, 0u32..4, 1u32..13)
            .prop_filter("small", |&(n, k, _)| n.pow(k + 1) <= 4096)
            .prop_map(|(n, k, groups)| {
                json!({"family": "bcube", "n": n, "k": k, "servers": groups.min(n) * n.pow(k)})
            }),
        (2u32..9, 1u32..3, 1u32..3000).prop_map(|(n, k, servers)| {
            let full = (0..k).fold(n, |size, _| size * (size + 1));
            json!({"family": "dcell", "n": n, "k": k, "servers": servers.min(full)})
        }),
        (4u32..49, 1u32..3000)
            .prop_map(|(ports, servers)| json!({"family": "tree", "edge_ports": ports, "servers": servers})),
        (2u32..9, 2u32..4)
            .prop_map(|(half, layers)| json!({"family": "fat_tree", "ports": 2 * half, "layers": layers})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(20_090_817),
        ..crate::cases::cases(96)
    })]

    /// Rows have as many racks as it takes, so a plan without further wishes has room for every
    /// device.
    #[test]
    fn everything_finds_a_unit(
        topology in any_structure(),
        per_unit in prop::sample::select(vec![None, Some(1), Some(2), Some(4)]),
    ) {
        for book in books() {
            let spec = json!({"topology": topology, "site": {"enclosure": "rows"}, "packaging": {"servers_per_unit": per_unit}});
            let (_, layout, findings) = laid_out(&spec, &book);
            let over = findings.iter().find(|finding| finding.code == "rack-over-units");
            prop_assert!(over.is_none(), "{}: {:?}", spec, over);
            prop_assert!(layout.placements.unit.iter().all(|&unit| unit > 0));
        }
    }
}

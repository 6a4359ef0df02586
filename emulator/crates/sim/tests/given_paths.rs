//! Rates of flows over given paths.

use cubeyard_sim::Network;
use cubeyard_sim::given_paths::rates_over;

fn network(spec: &str) -> Network {
    Network::open(spec).unwrap()
}

#[test]
fn flows_that_share_a_link_share_its_rate() {
    let bcube = network(r#"{"family":"bcube","n":2,"k":1}"#);
    // 00 to 11 by 01 and 01 to 11 share the last two links; 10 to 00 is alone; the last flow
    // has no path.
    let paths = [vec![0, 1, 3], vec![1, 3], vec![2, 0], vec![]];
    assert_eq!(rates_over(&bcube, &paths, 0.1).unwrap(), [0.05, 0.05, 0.1, 0.0]);
}

#[test]
fn servers_may_be_joined_by_a_cable() {
    let torus = network(r#"{"family":"torus3d","x":3,"y":3,"z":3}"#);
    let neighbour = torus
        .topology()
        .adjacency()
        .row(0)
        .map(|(node, _)| node)
        .min()
        .unwrap();
    let paths = [vec![0, neighbour], vec![neighbour, 0]];
    assert_eq!(rates_over(&torus, &paths, 1.0).unwrap(), [1.0, 1.0]);
}

#[test]
fn servers_that_nothing_joins_are_named() {
    let bcube = network(r#"{"family":"bcube","n":2,"k":1}"#);
    for path in [vec![0, 3], vec![0, 99]] {
        let findings = rates_over(&bcube, &[vec![0, 1], path], 1.0).unwrap_err();
        assert_eq!(findings[0].field, "paths.1");
    }
}

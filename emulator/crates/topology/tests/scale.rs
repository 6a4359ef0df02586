//! The largest published structure, and the refusal of anything that would not fit.

use crate::common;

use cubeyard_topology::{Finding, MAX_LINKS};

#[test]
#[ignore = "for the long run, `make test TEST=all`"]
fn dcell_3_of_6_port_switches_is_built_whole() {
    let topology = common::build(r#"{"family":"dcell","n":6,"k":3}"#);
    assert_eq!(topology.server_count(), 3_263_442);
    assert_eq!(topology.switch_count(), 543_907);
    // One link a server at level 0, and half of one at each level above.
    assert_eq!(topology.link_count(), 3_263_442 / 2 * 5);
    let last = topology.server_count() - 1;
    assert_eq!(topology.node_name(last), "[1806,42,6,5]");
    assert_eq!(topology.node_by_name("[1806,42,6,5]"), Some(last));
    let csr = topology.adjacency();
    assert!((0..topology.server_count()).all(|server| csr.degree(server) == 4));
}

#[test]
fn what_does_not_fit_is_refused_at_once() {
    for json in [
        r#"{"family":"bcube","n":1024,"k":24}"#,
        r#"{"family":"dcell","n":1024,"k":6}"#,
        r#"{"family":"torus3d","x":4096,"y":4096,"z":4096}"#,
        r#"{"family":"fat_tree","ports":1024,"layers":16}"#,
        r#"{"family":"tree","edge_ports":1,"servers":60000000}"#,
        r#"{"family":"subways","type":1,"p":64,"q":4096,"l":4096,"clusters":4096,"loops_per_cluster":4096}"#,
    ] {
        let findings = common::spec(json).validate();
        let error = findings.iter().find(|finding| finding.is_error()).unwrap();
        assert_eq!(error.code, "topology-too-large", "{json}");
        assert_eq!(error.limit, Some(MAX_LINKS.into()));
        assert!(error.fix.is_some() && Finding::is_error(error));
    }
}

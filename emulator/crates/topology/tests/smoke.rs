#![allow(missing_docs)]
use cubeyard_topology::*;
#[test]
fn smoke() {
    for s in [
        r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#,
        r#"{"family":"bcube","n":4,"k":0}"#,
        r#"{"family":"bcube","n":12,"k":1}"#,
    ] {
        let t = Topology::build(&serde_json::from_str(s).unwrap()).unwrap();
        let c = t.certificate();
        println!(
            "{s} {} {} {} {:#?}",
            t.server_count(),
            t.switch_count(),
            t.link_count(),
            c
        );
        println!(
            "{:?} {}",
            (0..3).map(|i| t.node_name(i)).collect::<Vec<_>>(),
            t.node_name(t.node_count() - 1)
        );
        assert!(c.passed);
    }
}

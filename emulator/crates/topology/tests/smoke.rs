#![allow(missing_docs)]
use cubeyard_topology::*;
#[test]
fn smoke() {
    for s in [r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#, r#"{"family":"dcell","n":4,"k":0}"#, r#"{"family":"dcell","n":4,"k":1}"#, r#"{"family":"torus3d","x":20,"y":2,"z":1}"#, r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#,r#"{"family":"fat_tree","ports":4,"layers":3,"servers":10}"#,r#"{"family":"tree","edge_ports":48,"servers":2048}"#,r#"{"family":"tree","edge_ports":3,"servers":50}"#,
r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#, r#"{"family":"bcube","n":4,"k":0}"#, r#"{"family":"bcube","n":12,"k":1}"#] {
        let t = Topology::build(&serde_json::from_str(s).unwrap()).unwrap();
        let c = t.certificate();
        println!("{s} {} {} {} {:?}", t.server_count(), t.switch_count(), t.link_count(), c.checks.iter().filter(|c|!c.passed || c.name=="diameter").collect::<Vec<_>>());
        println!("{:?} {}", (0..3).map(|i| t.node_name(i)).collect::<Vec<_>>(), t.node_name(t.node_count()-1));
        assert!(c.passed);
        println!("{}", serde_json::to_string(&t.metrics()).unwrap());
    }
}

//! BCube on the chip: packets take exactly the path that their source wrote into them
//! `[serverswitch §5.1]`.

use cubeyard_chip::bcube::{self, program};
use cubeyard_chip::walk::{paths, walk};
use cubeyard_chip::{Chip, Frame, Program, Table, text};
use cubeyard_topology::TopologySpec;
use proptest::prelude::*;

use crate::cases::short_or_long;
use crate::common;

fn spec(n: u32, k: u32) -> TopologySpec {
    serde_json::from_value(serde_json::json!({"family": "bcube", "n": n, "k": k})).unwrap()
}

#[test]
fn packets_take_every_parallel_path_between_all_servers() {
    for &(n, k) in short_or_long(&[(4, 1), (2, 3), (2, 0)][..], &[(4, 1), (2, 3), (2, 0), (3, 2)]) {
        let (topology, shape) = bcube::shape(&spec(n, k)).unwrap();
        for source in 0..shape.servers() {
            for destination in (0..shape.servers()).filter(|&other| other != source) {
                for hops in paths(&shape, source, destination).unwrap() {
                    let walk = walk(&topology, &shape, source, &hops, b"payload").unwrap();
                    let visited: Vec<&str> = walk.visits.iter().map(|visit| visit.name.as_str()).collect();
                    assert!(walk.arrived, "{:?} from {source}", walk.path);
                    assert_eq!(visited, walk.path);
                    let last = common::bytes(&walk.visits.last().unwrap().trace.sent[0].packet);
                    assert_eq!(last[22], 1, "the destination gets a TTL of 1");
                    assert!(common::checksum_is_right(&last));
                    assert!(last.ends_with(b"payload"));
                }
            }
        }
    }
}

#[test]
fn the_file_typed_by_hand_is_the_program_that_is_generated() {
    let typed = text::read(include_str!("../programs/bcube-fig6.chip")).unwrap();
    let (_, shape) = bcube::shape(&spec(4, 1)).unwrap();
    assert_eq!(text::print(&typed), text::print(&program(&shape, 0).unwrap()));
    assert_eq!(typed.table(Table::Tcam).len(), 6 * 8 + 12);
}

proptest! {
    /// One text gives the program of every server, for any set of live neighbours.
    #[test]
    fn the_shared_text_is_every_servers_program(
        (n, k) in prop_oneof![Just((4, 1)), Just((2, 3)), Just((3, 2)), Just((16, 1))],
        server in any::<u32>(),
        dead in any::<u64>(),
    ) {
        let shared = text::Source::parse(bcube::SHARED).unwrap();
        let (_, shape) = bcube::shape(&spec(n, k)).unwrap();
        let mut server = bcube::server(&shape, server % shape.servers()).unwrap();
        for (at, neighbour) in server.neighbours.iter_mut().enumerate() {
            neighbour.alive = dead >> (at % 64) & 1 == 0;
        }
        let generated = bcube::program_of(server.address, &server.neighbours).unwrap();
        prop_assert_eq!(text::print(&shared.program(Some(&server)).unwrap()), text::print(&generated));
    }
}

#[test]
fn a_program_is_checked_for_every_server_with_its_neighbours_alive_and_dead() {
    let (_, shape) = bcube::shape(&spec(4, 1)).unwrap();
    let servers = || (0..16).map(|id| bcube::server(&shape, id).unwrap());
    let check = |text: &str, in_kernel| text::Source::parse(text).unwrap().check_for(servers(), in_kernel);
    check(bcube::SHARED, true).unwrap();
    // Server 00 has no neighbour 0 at level 0; the others have.
    let flaws = check("SetVIfTable(0, dstmac[0x00], NULL, 0);", false).unwrap_err();
    assert_eq!(
        (flaws[0].code, flaws[0].line, flaws[0].column),
        ("hop-unknown", 1, 16)
    );
    assert!(
        flaws[0].message.contains("10.0.0.1 with its neighbours alive"),
        "{}",
        flaws[0].message
    );
    let dead = "foreach nha in nhas { if (alive[nha] == 0) { SetVIfTable(nha, NULL, NULL, 9); } }";
    let flaws = check(dead, false).unwrap_err();
    assert!(
        flaws[0].message.contains("neighbours dead"),
        "{}",
        flaws[0].message
    );
    // The chip in user space has tunnels, the one in the kernel has not.
    let tunnel = "SetProfile(extended); SetVIfTable(0, NULL, NULL, 0);
        SetLookupTable(LPM_IPV4, 0, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=0, tunnel=POP});";
    check(tunnel, false).unwrap();
    assert!(check(tunnel, true).is_err());
    check(&tunnel.replace(", tunnel=POP", ""), true).unwrap();
}

#[test]
fn messages_of_the_control_plane_go_to_the_cpu_of_their_port_at_every_server() {
    let (_, shape) = bcube::shape(&spec(4, 1)).unwrap();
    let hops = &paths(&shape, 0, 5).unwrap()[0];
    let mut chip = Chip::new(program(&shape, hops[0].server).unwrap()).unwrap();
    for (kind, port) in [(bcube::DATA, hops[1].level), (bcube::ND, 4), (bcube::ABQ, 4)] {
        let mut packet = bcube::packet(0, hops, &shape, b"").unwrap();
        packet[42] = kind;
        let mut frame = Frame::new(&packet).unwrap();
        // One hop on: as the source's chip would send it.
        let bytes = frame.bytes_mut();
        bytes[22] -= 1;
        bytes[24] += 1;
        let mut ports = Vec::new();
        let _ = chip
            .receive(0, &mut frame, &mut |port, _| ports.push(port))
            .unwrap();
        assert_eq!(ports, [port], "BCube protocol {kind}");
    }
}

#[test]
fn a_bcube_that_a_byte_cannot_name_is_refused_by_field() {
    let refused = |n, k| bcube::shape(&spec(n, k)).unwrap_err().field.to_string();
    assert_eq!(refused(2, 4), "spec.k");
    assert_eq!(refused(65, 1), "spec.n");
    assert_eq!(refused(16, 3), "spec.servers");
    let (_, shape) = bcube::shape(&spec(64, 1)).unwrap();
    assert_eq!(
        program(&shape, 4095).unwrap().table(Table::Tcam).len(),
        126 * 8 + 12
    );
    assert_eq!(program(&shape, 4096).unwrap_err().field.to_string(), "server");
    let tree: TopologySpec = serde_json::from_str(r#"{"family":"fat_tree","ports":4,"layers":3}"#).unwrap();
    assert_eq!(bcube::shape(&tree).unwrap_err().field.to_string(), "spec.family");
}

proptest! {
    /// For any two programs committed while packets flow, each packet meets one of them as a whole.
    #[test]
    fn a_commit_is_whole_or_not_at_all(server in 0..16_u32, other in 0..16_u32) {
        let (_, shape) = bcube::shape(&spec(4, 1)).unwrap();
        let mut chip = Chip::new(program(&shape, server).unwrap()).unwrap();
        let mut broken = program(&shape, other).unwrap();
        let action = text::read("SetVIfTable(9, NULL, NULL, 1); SetLookupTable(EM_MPLS, 0, 0, 1, NULL, {act=REDIRECT_VIF, vif=9});").unwrap();
        let raw = (&action.table(Table::EmMpls)[&0].action).into();
        broken.set_lookup_table(Table::EmMpls, 0, 0, &[0, 0, 1], None, &raw).unwrap();
        let flaws = chip.commit(broken).unwrap_err();
        prop_assert_eq!(flaws[0].code, "vif-unset");
        prop_assert_eq!(chip.program(), &program(&shape, server).unwrap());
        chip.commit(program(&shape, other).unwrap()).unwrap();
        prop_assert_eq!(chip.program(), &program(&shape, other).unwrap());
        prop_assert!(chip.commit(Program::default()).is_ok());
    }
}

//! Tests that source routes and lists of servers correspond one to one, and that only existing
//! paths are written to tables.

use crate::bcube_run as run;

use cubeyard_dataplane::address::virtual_ip;
use cubeyard_dataplane::bcube::nha::Nha;
use cubeyard_dataplane::bcube::route::{NumberedPath, SourceRoute};
use cubeyard_dataplane::bcube::rules::{Rules, own_entries};
use cubeyard_dataplane::bcube::tables::{self, OUTSIDE, Path};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::tables::{TableRules, TableUpdate};
use cubeyard_routing::bcube::build_path_set;
use proptest::prelude::*;
use run::{run, shape};
use zerocopy::IntoBytes;

proptest! {
    #[test]
    fn a_path_survives_its_bytes(n in 2u32..=5, k in 0u32..=3, from in any::<u32>(), to in any::<u32>()) {
        let shape = shape(n, k);
        let (from, to) = (from % shape.servers(), to % shape.servers());
        prop_assume!(from != to);
        for hops in build_path_set(&shape, from, to) {
            let servers: Vec<u32> = hops.iter().map(|hop| hop.server).collect();
            let route = SourceRoute::through(&shape, from, &servers).unwrap();
            prop_assert_eq!(route.servers(&shape, from), Some(servers));
            let levels: Vec<u32> = hops.iter().map(|hop| hop.level.into()).collect();
            prop_assert_eq!(route.hops().iter().map(|hop| hop.level()).collect::<Vec<_>>(), levels);
            let path = Path::new(virtual_ip(to).unwrap(), 7, &route);
            prop_assert_eq!(path.route(), Some(route));
        }
    }

    /// For any bytes, or for a real path with one byte changed: an accepted entry leads to its
    /// destination along neighbours.
    #[test]
    fn only_paths_that_exist_are_allowed(
        server in 0u32..16, destination in 0u32..16, hops in prop::collection::vec(any::<u8>(), 1..=3),
        change in prop::option::of((0usize..24, any::<u8>())), whole in any::<bool>(),
    ) {
        let rules = Rules::new(&run(4, 1, None, &[5])).unwrap();
        let shape = shape(4, 1);
        let real = build_path_set(&shape, server, destination).into_iter().next();
        let route = match real.filter(|_| whole && server != destination) {
            Some(hops) => SourceRoute::through(&shape, server, &hops.iter().map(|hop| hop.server).collect::<Vec<_>>()),
            None => SourceRoute::new(hops.into_iter().map(Nha)),
        };
        let route = route.unwrap();
        let to = virtual_ip(destination).unwrap();
        let mut path = tables::path(to, &NumberedPath::new(server, destination, route)).as_bytes().to_vec();
        if let Some((at, value)) = change {
            path[at] = value;
        }
        let flow = Flow::new(virtual_ip(server).unwrap(), to, 6, 1, 2);
        let default = TableUpdate::set(tables::DEFAULT_PATHS, &to.octets(), &path);
        let own = TableUpdate::set(tables::FLOW_PATHS, flow.as_bytes(), &path);
        let outside = TableUpdate::set(tables::DEFAULT_PATHS, &OUTSIDE, &path);
        let read = <Path as zerocopy::FromBytes>::read_from_bytes(&path).unwrap();
        let servers = read.route().and_then(|route| route.servers(&shape, server));
        let steps = |servers: &Vec<u32>| {
            let mut at = server;
            servers.iter().all(|&next| next != std::mem::replace(&mut at, next))
        };
        let end = servers.filter(steps).and_then(|servers| servers.last().copied());
        let exists = end.is_some_and(|end| {
            let id = read.id;
            read == Path::new(virtual_ip(end).unwrap(), id, &read.route().unwrap())
        });
        prop_assert_eq!(rules.check(server, &default).is_ok(), exists && end == Some(destination));
        prop_assert_eq!(rules.check(server, &own).is_ok(), exists && end == Some(destination));
        prop_assert_eq!(rules.check(server, &outside).is_ok(), exists && end == Some(5));
    }
}

#[test]
fn routes_that_the_bytes_cannot_name_are_refused() {
    assert_eq!(Nha::new(3, 63), Some(Nha(0xff)));
    assert_eq!((Nha::new(4, 0), Nha::new(0, 64)), (None, None));
    assert_eq!(SourceRoute::new([]), None);
    assert_eq!(SourceRoute::new([Nha(1); 9]), None);
    let shape = shape(4, 1);
    assert_eq!(SourceRoute::through(&shape, 0, &[5]), None, "two digits differ");
    assert_eq!(SourceRoute::through(&shape, 0, &[0]), None, "no digit differs");
    let outside = SourceRoute::new(Nha::new(2, 0)).unwrap();
    assert_eq!(outside.servers(&shape, 0), None, "no such level");
}

#[test]
fn the_rules_accept_their_own_initial_entries() {
    // All of a BCube_1, then a slice (00, 01, 11) without one relay of the digit-correcting paths:
    // the relay is 01 instead.
    for present in [None, Some(&[0, 1, 5][..])] {
        let run = run(4, 1, present, &[]);
        let rules = Rules::new(&run).unwrap();
        for configuration in &run.servers {
            let server = configuration.server;
            let defaults = rules.default_paths(server);
            assert_eq!(
                defaults.len(),
                run.servers.len() - 1,
                "a path to every other server"
            );
            let initial = rules.initial(server);
            assert_eq!(
                initial[..own_entries(configuration).unwrap().len()],
                own_entries(configuration).unwrap()
            );
            for update in initial.iter().filter(|update| update.table != tables::CONFIG) {
                assert_eq!(rules.check(server, update), Ok(()), "{update:?}");
            }
            assert!(
                rules.check(server, &initial[0]).is_err(),
                "a server must not change its own identity"
            );
        }
    }
}

#[test]
fn a_neighbours_status_may_change_and_nothing_else_of_it() {
    let rules = Rules::new(&run(4, 1, None, &[])).unwrap();
    let update = rules
        .initial(0)
        .into_iter()
        .find(|update| update.table == tables::NST)
        .unwrap();
    let entry = update.value.clone().unwrap().0;
    let up_at = 16;
    for at in 0..entry.len() {
        for value in [0, 1, 2, 0xff] {
            let mut bytes = entry.clone();
            bytes[at] = value;
            let changed = TableUpdate::set(tables::NST, &update.key.0, &bytes);
            let allowed = bytes == entry || at == up_at && value <= 1;
            assert_eq!(rules.check(0, &changed).is_ok(), allowed, "byte {at} as {value}");
        }
    }
    let stranger = TableUpdate::set(tables::NST, &0xffu32.to_ne_bytes(), &entry);
    assert!(rules.check(0, &stranger).is_err());
}

//! DCell's state as tables for users.

use cubeyard_topology::NodeId;

use super::control::Dcell;
use super::tables::{HAS_HOP, Route};
use crate::inspection::ColumnKind::{Count, Flag, Paths, Port, Secs, Server, Text};
use crate::inspection::{Cell, Inspection, Section};
use crate::protocol::Time;

impl Dcell {
    pub(super) fn sections(&self, now: Time) -> Inspection {
        Inspection {
            sections: vec![
                self.neighbour_section(now),
                self.link_state_section(now),
                self.table_section(),
                self.path_section(),
                self.count_section(),
            ],
        }
    }

    fn neighbour_section(&self, now: Time) -> Section {
        let rows = self.neighbours.status(now).map(|neighbour| {
            let silent = neighbour.silent_for.map(|silent| silent.as_secs_f64());
            vec![
                Cell::Count(neighbour.server.into()),
                Cell::Count(neighbour.port.into()),
                Cell::Flag(neighbour.up),
                silent.map_or(Cell::Empty, Cell::Number),
            ]
        });
        let columns = [
            ("server", "Neighbour", Server),
            ("port", "Level", Port),
            ("up", "Alive", Flag),
            ("silent_secs", "Last heard", Secs),
        ];
        Section::new("neighbours", "Neighbours", &columns, rows)
    }

    fn link_state_section(&self, now: Time) -> Section {
        let rows = self.link_state.status(now).map(|status| {
            let sequence = status
                .sequence
                .map_or(Cell::Empty, |number| Cell::Count(number.into()));
            vec![
                Cell::Count(status.origin.into()),
                sequence,
                Cell::Count(status.links as u64),
                Cell::Number(status.age.as_secs_f64()),
                Cell::Flag(!status.expired),
            ]
        });
        let columns = [
            ("server", "Server", Server),
            ("sequence", "Number", Count),
            ("links", "Links it reports", Count),
            ("age_secs", "Age", Secs),
            ("counts", "Counts", Flag),
        ];
        Section::new("link-state", "Link state", &columns, rows)
    }

    /// The neighbour that a hop leads to.
    fn neighbour(&self, hop: u8) -> Cell {
        let link = self.links.get(usize::from(hop));
        link.map_or(Cell::Empty, |link| Cell::Count(link.neighbour.into()))
    }

    fn table_section(&self) -> Section {
        let rows = self
            .routes
            .iter()
            .map(|(&destination, route)| self.route_row(destination, route));
        let columns = [
            ("destination", "Destination", Server),
            ("next_hop", "Next hop", Server),
            ("alternative", "Next hop of a reroute", Server),
            ("proxy", "Proxy of a reroute", Server),
        ];
        Section::new("table", "Forwarding table", &columns, rows)
    }

    fn route_row(&self, destination: NodeId, route: &Route) -> Vec<Cell> {
        let has_hop = route.flags & HAS_HOP != 0;
        let next_hop = if has_hop {
            self.neighbour(route.hop)
        } else {
            Cell::Empty
        };
        let alternative = route.alternative(0);
        vec![
            Cell::Count(destination.into()),
            next_hop,
            alternative.map_or(Cell::Empty, |(hop, _)| self.neighbour(hop)),
            alternative.map_or(Cell::Empty, |(_, proxy)| Cell::Count(proxy.into())),
        ]
    }

    fn path_section(&self) -> Section {
        let rows = self.traces.status().map(|(destination, flows, path)| {
            vec![
                Cell::Count(destination.into()),
                Cell::Count(flows as u64),
                Cell::Paths(path.into_iter().collect()),
            ]
        });
        let columns = [
            ("destination", "Destination", Server),
            ("flows", "Flows from here", Count),
            ("paths", "Path", Paths),
        ];
        Section::new("paths", "Paths of flows", &columns, rows)
    }

    fn count_section(&self) -> Section {
        let own = [
            ("table computed", self.computations),
            ("local reroutes told of", self.reroutes),
        ];
        let refused = self.refused.iter().map(|(&reason, &count)| (reason, count));
        let rows = own.into_iter().map(|(what, count)| (what.to_owned(), count));
        let rows = rows.chain(refused.map(|(reason, count)| (format!("message refused: {reason}"), count)));
        let rows = rows.map(|(what, count)| vec![Cell::Text(what), Cell::Count(count)]);
        let columns = [("what", "What", Text), ("count", "Count", Count)];
        Section::new("counts", "Counts", &columns, rows)
    }
}

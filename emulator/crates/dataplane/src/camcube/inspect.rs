//! The state of a server as tables for users.

use super::control::CamCube;
use crate::inspection::ColumnKind::{Count, Flag, Port, Secs, Server, Text};
use crate::inspection::{Cell, Inspection, Section};
use crate::protocol::Time;

/// Names of the directions along the three axes.
const AXES: [&str; 3] = ["x", "y", "z"];

impl CamCube {
    pub(super) fn sections(&self, now: Time) -> Inspection {
        Inspection {
            sections: vec![
                self.coordinate_section(),
                self.neighbour_section(now),
                self.key_section(),
                self.service_section(),
                self.service_link_section(),
                self.way_section(),
                self.link_state_section(now),
                self.refused_section(),
            ],
        }
    }

    fn port_name(&self, port: u8) -> String {
        let (axis, up) = self.structure.way(port);
        format!("{}{}", AXES[axis], if up { '+' } else { '-' })
    }

    fn port_names(&self, mask: u8) -> Cell {
        let ports = (0..self.structure.ports()).filter(|port| mask >> port & 1 == 1);
        let names: Vec<String> = ports.map(|port| self.port_name(port)).collect();
        Cell::Text(names.join(" "))
    }

    fn coordinate_section(&self) -> Section {
        let [x, y, z] = self.structure.shape().sizes();
        let row = vec![
            Cell::Text(self.structure.name(self.me)),
            Cell::Text(format!("{x} x {y} x {z}")),
        ];
        let columns = [("coordinate", "Coordinate", Text), ("size", "Torus", Text)];
        Section::new("coordinate", "Coordinate", &columns, [row])
    }

    fn neighbour_section(&self, now: Time) -> Section {
        let rows = self.neighbours.status(now).map(|neighbour| {
            let silent = neighbour.silent_for.map(|silent| silent.as_secs_f64());
            vec![
                Cell::Count(neighbour.server.into()),
                Cell::Count(neighbour.port.into()),
                Cell::Text(self.port_name(neighbour.port)),
                Cell::Flag(neighbour.up),
                silent.map_or(Cell::Empty, Cell::Number),
            ]
        });
        let columns = [
            ("server", "Neighbour", Server),
            ("port", "Port", Port),
            ("direction", "Direction", Text),
            ("up", "Alive", Flag),
            ("silent_secs", "Last heard", Secs),
        ];
        Section::new("neighbours", "Neighbours", &columns, rows)
    }

    fn key_section(&self) -> Section {
        let own = (0u32..)
            .zip(&self.roots)
            .filter(|(_, root)| **root == Some(self.me));
        let rows = own.map(|(home, _)| {
            vec![
                Cell::Text(self.structure.name(home)),
                Cell::Count(home.into()),
                Cell::Flag(home != self.me),
            ]
        });
        let columns = [
            ("key", "Key coordinate", Text),
            ("home", "Home server", Server),
            ("inherited", "Taken over", Flag),
        ];
        Section::new("keys", "Keys answered for", &columns, rows)
    }

    fn service_section(&self) -> Section {
        let rows = self.services.status().flat_map(|(name, id, waiting, counters)| {
            let row = move |counter: &str, count: u64| {
                vec![
                    Cell::Text(name.to_owned()),
                    Cell::Count(id.into()),
                    Cell::Text(counter.to_owned()),
                    Cell::Count(count),
                ]
            };
            let counters = counters
                .into_iter()
                .map(move |(counter, count)| row(counter, count));
            let waiting = row("packets-waiting", waiting as u64);
            std::iter::once(waiting).chain(counters).collect::<Vec<_>>()
        });
        let columns = [
            ("service", "Service", Text),
            ("id", "Number", Count),
            ("counter", "Counter", Text),
            ("count", "Count", Count),
        ];
        Section::new("services", "Services", &columns, rows)
    }

    fn service_link_section(&self) -> Section {
        let rows = self.services.sent().flat_map(|(name, ports)| {
            let used = (0u8..).zip(ports).filter(|(_, sent)| sent.packets > 0);
            used.map(move |(port, sent)| {
                vec![
                    Cell::Text(name.to_owned()),
                    Cell::Count(port.into()),
                    Cell::Text(self.port_name(port)),
                    Cell::Count(sent.packets),
                    Cell::Count(sent.bytes),
                ]
            })
        });
        let columns = [
            ("service", "Service", Text),
            ("port", "Port", Port),
            ("direction", "Direction", Text),
            ("packets", "Packets sent", Count),
            ("bytes", "Bytes sent", Count),
        ];
        Section::new("service-links", "Services by link", &columns, rows)
    }

    fn way_section(&self) -> Section {
        let others = (0u32..).zip(&self.ways);
        let others = others.filter(|(home, _)| *home != self.me && self.structure.is_present(*home));
        let rows = others.map(|(home, way)| {
            vec![
                Cell::Count(home.into()),
                Cell::Flag(way.shortest != 0),
                self.port_names(way.shortest),
                self.port_names(way.disjoint),
            ]
        });
        let columns = [
            ("destination", "Destination", Server),
            ("reachable", "Reachable", Flag),
            ("shortest", "Links on shortest paths", Text),
            ("disjoint", "First links of disjoint paths", Text),
        ];
        Section::new("ways", "Paths", &columns, rows)
    }

    fn link_state_section(&self, now: Time) -> Section {
        let rows = self.link_state.status(now).map(|status| {
            let sequence = status.sequence.map(|sequence| Cell::Count(sequence.into()));
            vec![
                Cell::Count(status.origin.into()),
                sequence.unwrap_or(Cell::Empty),
                Cell::Count(status.links as u64),
                Cell::Number(status.age.as_secs_f64()),
                Cell::Flag(!status.expired),
            ]
        });
        let columns = [
            ("server", "Server", Server),
            ("sequence", "Sequence number", Count),
            ("links", "Links alive", Count),
            ("age_secs", "Age", Secs),
            ("counts", "Counts", Flag),
        ];
        Section::new("link-state", "Link state", &columns, rows)
    }

    fn refused_section(&self) -> Section {
        let rows = self.refused.iter();
        let rows =
            rows.map(|(reason, &count)| vec![Cell::Text(reason.name().to_owned()), Cell::Count(count)]);
        let columns = [("reason", "Reason", Text), ("count", "Messages", Count)];
        Section::new("refused-messages", "Refused messages", &columns, rows)
    }
}

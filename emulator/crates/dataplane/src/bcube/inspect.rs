//! BSR's state as tables for users.

use super::bsr::{Bsr, summary};
use crate::inspection::ColumnKind::{Count, Flag, Flow, PathId, Paths, Port, Secs, Server, Servers, Text};
use crate::inspection::{Cell, Inspection, Section};
use crate::protocol::Time;

impl Bsr {
    pub(super) fn sections(&self, now: Time) -> Inspection {
        Inspection {
            sections: vec![
                self.neighbour_section(now),
                self.flow_section(),
                self.failed_link_section(now),
                self.refused_section(),
            ],
        }
    }

    fn neighbour_section(&self, now: Time) -> Section {
        let rows = self.neighbours.status(now).enumerate().map(|(index, neighbour)| {
            let silent = neighbour.silent_for.map(|silent| silent.as_secs_f64());
            vec![
                Cell::Count(neighbour.server.into()),
                Cell::Count(self.keys.nha(index).0.into()),
                Cell::Count(neighbour.port.into()),
                Cell::Flag(neighbour.up),
                silent.map_or(Cell::Empty, Cell::Number),
            ]
        });
        let columns = [
            ("server", "Neighbour", Server),
            ("next_hop", "Next-hop byte", Count),
            ("port", "Port", Port),
            ("up", "Alive", Flag),
            ("silent_secs", "Last heard", Secs),
        ];
        Section::new("neighbours", "Neighbours", &columns, rows)
    }

    fn flow_section(&self) -> Section {
        let rows = self.flows.iter().map(|(flow, state)| {
            vec![
                Cell::Flow(*flow),
                Cell::Count(state.path_id().into()),
                Cell::Paths(state.good.iter().map(summary).collect()),
                Cell::Count(state.probings.into()),
                Cell::Count(state.switches.into()),
            ]
        });
        let columns = [
            ("flow", "Flow", Flow),
            ("path_id", "Path in use", PathId),
            ("paths", "Path cache", Paths),
            ("probings", "Probings", Count),
            ("switches", "Path switches", Count),
        ];
        Section::new("flows", "Flows from here", &columns, rows)
    }

    fn failed_link_section(&self, now: Time) -> Section {
        let rows = self.failed.list(now).into_iter().map(|link| {
            vec![
                Cell::Servers(vec![link.servers.0, link.servers.1]),
                Cell::Number(link.expires_in.as_secs_f64()),
            ]
        });
        let columns = [
            ("servers", "Between", Servers),
            ("expires_in_secs", "Forgotten in", Secs),
        ];
        Section::new("failed-links", "Failed links", &columns, rows)
    }

    fn refused_section(&self) -> Section {
        let rows = self
            .refused
            .iter()
            .map(|(&reason, &count)| vec![Cell::Text(reason.to_owned()), Cell::Count(count)]);
        let columns = [("reason", "Reason", Text), ("count", "Messages", Count)];
        Section::new("refused-messages", "Refused messages", &columns, rows)
    }
}

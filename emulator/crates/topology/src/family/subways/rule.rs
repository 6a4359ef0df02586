//! The wiring rule of Subways as a certificate states and checks it: by the names of a link's ends,
//! not by the code that wires.

use super::super::common::{NamedLink, read_list, read_switch};
use super::shape::Subways;

impl Subways {
    /// The rule in words.
    pub(super) fn rule_text(&self) -> String {
        let access = if self.wiring_type == 0 {
            "all ports of a server go to the ToR of its rack".to_owned()
        } else {
            format!(
                "a server of rack i has one port on each of the ToRs i-{} to i+{} around its loop",
                self.p / 2,
                (self.p - 1) / 2
            )
        };
        format!(
            "Type {}: {access}; a ToR connects to all aggregation switches of its cluster, ToR j of loop o being in \
             cluster (j+o) mod {} of its group; links up of the aggregation switches are dealt to the cores in turn \
             [subways §4].",
            self.wiring_type, self.spread
        )
    }

    /// Whether a link follows the wiring rule, from the names of its ends alone.
    pub(super) fn link_obeys(&self, link: &NamedLink) -> bool {
        let Some((level, label)) = read_switch(link.b) else {
            return false;
        };
        let Some(upper) = read_list(label, '.') else {
            return false;
        };
        if level != u32::from(link.level) {
            return false;
        }
        let (a_port, b_port) = (u32::from(link.a_port), u32::from(link.b_port));
        if let Some((below, label)) = read_switch(link.a) {
            let Some(lower) = read_list(label, '.') else {
                return false;
            };
            return match (below, lower.as_slice(), level, upper.as_slice()) {
                (0, &[in_loop, tor], 1, &[cluster, agg]) => {
                    let Some(wire) = a_port.checked_sub(self.q) else {
                        return false;
                    };
                    if let Some(wire) = wire.checked_sub(self.uplinks()) {
                        return self.former_cluster(in_loop, tor) == Some(cluster)
                            && wire / self.trunk == agg
                            && b_port >= self.agg_down + self.agg_up;
                    }
                    let (group, turn) = (cluster / self.spread, (tor + in_loop) % self.spread);
                    in_loop / (self.spread * self.loops_per_cluster) == group
                        && cluster % self.spread == turn
                        && wire / self.trunk == agg
                        && b_port == self.place_in_cluster(in_loop, tor) * self.trunk + wire % self.trunk
                }
                (1, &[cluster, agg], 2, &[core]) => {
                    let Some(up) = a_port.checked_sub(self.agg_down) else {
                        return false;
                    };
                    let turn = u64::from(agg) * u64::from(self.agg_up) + u64::from(up);
                    let width = self.core_port_count();
                    up < self.agg_up
                        && turn % u64::from(self.cores) == u64::from(core)
                        && b_port / width == cluster
                        && u64::from(b_port % width) == turn / u64::from(self.cores)
                }
                _ => false,
            };
        }
        let Some(server) = read_list(link.a, '.') else {
            return false;
        };
        let (&[in_loop, rack, place], &[tor_loop, tor]) = (server.as_slice(), upper.as_slice()) else {
            return false;
        };
        if level != 0 || in_loop != tor_loop || b_port != a_port * self.r + place || a_port >= self.p {
            return false;
        }
        if self.wiring_type == 0 {
            return rack == tor;
        }
        // The window of [subways §4.2], walked from its left end; port numbers grow with the
        // distance.
        let (left, right) = (i64::from(self.p / 2), i64::from((self.p - 1) / 2));
        (-left..=right).any(|offset| {
            let port = if offset < 0 { -2 * offset - 1 } else { 2 * offset };
            (i64::from(rack) + offset).rem_euclid(i64::from(self.l)) == i64::from(tor)
                && port == i64::from(a_port)
        })
    }
}

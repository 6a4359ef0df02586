//! The work: one line a task, from the minutes that the book's labour part gives for each.

use cubeyard_topology::Topology;

use super::cables::CableCounts;
use super::{Builder, Category, NewLine, Unit};
use crate::book::PartKind;
use crate::layout::Layout;
use crate::selection::PartSelection;

/// Names of the tasks a labour part gives minutes for.
pub mod tasks {
    pub const SET_RACK: &str = "set_rack";
    pub const MOUNT_SERVER: &str = "mount_server";
    pub const MOUNT_SWITCH: &str = "mount_switch";
    pub const FIT_NIC: &str = "fit_nic";
    pub const PULL_CABLE_IN_RACK: &str = "pull_cable_in_rack";
    pub const PULL_CABLE_IN_TRAY: &str = "pull_cable_in_tray";
    pub const PULL_CABLE_PER_METRE: &str = "pull_cable_per_metre";
    pub const TERMINATE_END: &str = "terminate_end";
    pub const LABEL_CABLE: &str = "label_cable";
    pub const TEST_CABLE: &str = "test_cable";
    pub const FIT_TRAY_PER_METRE: &str = "fit_tray_per_metre";
}

/// One line per task, in hours; returns the minutes of all.
pub(super) fn lines(
    to: &mut Builder<'_>,
    topology: &Topology,
    selection: &PartSelection,
    layout: &Layout,
    cables: &CableCounts,
    tray_metres: f64,
) -> f64 {
    let Some(part) = to.book.parts_of(PartKind::Labour).map(|(_, p)| p).next() else {
        return 0.0;
    };
    let Some(minutes) = &part.attributes.minutes else {
        return 0.0;
    };
    let servers = f64::from(topology.server_count());
    let cards: u32 = selection.nics.iter().map(|n| n.cards).sum();
    let all_cables = (cables.in_rack + cables.in_tray) as f64;
    let work = [
        (
            tasks::SET_RACK,
            "Set and level a rack",
            layout.racks.name.len() as f64,
        ),
        (tasks::MOUNT_SERVER, "Mount a server", servers),
        (
            tasks::MOUNT_SWITCH,
            "Mount a switch",
            f64::from(topology.switch_count()),
        ),
        (tasks::FIT_NIC, "Fit a network card", servers * f64::from(cards)),
        (
            tasks::PULL_CABLE_IN_RACK,
            "Pull a cable inside a rack",
            cables.in_rack as f64,
        ),
        (
            tasks::PULL_CABLE_IN_TRAY,
            "Pull a cable through trays",
            cables.in_tray as f64,
        ),
        (
            tasks::PULL_CABLE_PER_METRE,
            "Dress a cable in trays, by the metre",
            cables.tray_mm as f64 / 1000.0,
        ),
        (
            tasks::TERMINATE_END,
            "Fit a plug on bulk cable",
            2.0 * cables.cut as f64,
        ),
        (tasks::LABEL_CABLE, "Label a cable at both ends", all_cables),
        (tasks::TEST_CABLE, "Test a cable", all_cables),
        (tasks::FIT_TRAY_PER_METRE, "Fit tray, by the metre", tray_metres),
    ];
    let mut total = 0.0;
    for (task, name, times) in work {
        let Some(&each) = minutes.get(task) else {
            continue;
        };
        let spent = (each * times * 10.0).round() / 10.0;
        if spent <= 0.0 {
            continue;
        }
        total += spent;
        let mut line = NewLine::each(Category::Labour, Some(part), String::new(), 0);
        // Rounded up to a tenth of an hour.
        line.quantity = (spent / 6.0 - 1e-9).ceil() / 10.0;
        line.unit = Unit::Hour;
        line.price_field = "usd_per_hour";
        line.unit_price_usd = part.attributes.usd_per_hour;
        line.unit_weight_kg = None;
        to.push(line);
        if let Some(last) = to.lines.last_mut() {
            last.name = name.to_owned();
        }
    }
    (total * 10.0).round() / 10.0
}

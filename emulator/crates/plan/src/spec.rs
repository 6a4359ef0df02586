//! The input of a plan: topology, site, packaging, cabling, and the price book.
//!
//! Every field but the topology is optional; [`PlanSpec::filled`] fills in the defaults, so that
//! the hash and the display of a plan include every value. Unknown fields are errors that name the
//! field.

use cubeyard_topology::{Finding, HOST_NAME_MAX_CHARACTERS, TopologySpec};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::addresses::AddressSpec;
use crate::book::Book;
use crate::layout::Layout;

/// The whole input of a plan. A bare topology spec (an object with `family`) is promoted to
/// `{"topology": ...}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanSpec {
    pub topology: TopologySpec,
    pub site: SiteSpec,
    pub packaging: PackagingSpec,
    pub cabling: CablingSpec,
    /// Identifier of the price book; the caller supplies the book itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanSpecFields {
    topology: TopologySpec,
    #[serde(default)]
    site: SiteSpec,
    #[serde(default)]
    packaging: PackagingSpec,
    #[serde(default)]
    cabling: CablingSpec,
    #[serde(default)]
    catalog: Option<String>,
}

impl<'de> Deserialize<'de> for PlanSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let value = match &value {
            Value::Object(map) if map.contains_key("family") && !map.contains_key("topology") => {
                serde_json::json!({ "topology": value })
            }
            _ => value,
        };
        let fields: PlanSpecFields = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(PlanSpec {
            topology: fields.topology,
            site: fields.site,
            packaging: fields.packaging,
            cabling: fields.cabling,
            catalog: fields.catalog,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Enclosure {
    /// A 40-ft container if everything fits in it (or in `containers` of them), else open rows.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "container-40ft")]
    Container40Ft,
    #[serde(rename = "container-20ft")]
    Container20Ft,
    #[serde(rename = "custom")]
    Custom,
    #[serde(rename = "rows")]
    Rows,
}

impl Enclosure {
    /// The word of the spec.
    pub fn name(self) -> &'static str {
        match self {
            Enclosure::Auto => "auto",
            Enclosure::Container40Ft => "container-40ft",
            Enclosure::Container20Ft => "container-20ft",
            Enclosure::Custom => "custom",
            Enclosure::Rows => "rows",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSpec {
    pub enclosure: Enclosure,
    /// Prefix of every host name of the plan, so that the devices of two plans differ: `dc-a` gives
    /// `dc-a-h0132`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_prefix: Option<String>,
    /// Paper size of the workbook and the label sheets: `a4` (by default) or `letter`. The bill
    /// buys labels of that size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// Networks of the devices' addresses in exports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<AddressSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containers: Option<u32>,
    /// Columns of racks in one container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,
    /// Width of the (cold) aisle racks face each other across.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aisle_metres: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub racks_per_row: Option<u32>,
    /// SKU of the rack part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack_power_limit_watts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rack_weight_limit_kg: Option<f64>,
    /// Power feed of one container, or of the room; the catalog's usual one by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_watts: Option<f64>,
    /// Heat that the cooling of one container, or of the room, takes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooling_limit_watts: Option<f64>,
    /// The most that one container may weigh with everything in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gross_mass_limit_kg: Option<f64>,
    /// Spread load that the floor under the racks bears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_load_limit_kg_per_m2: Option<f64>,
}

impl SiteSpec {
    /// The paper's name in a price book.
    pub fn paper(&self) -> &'static str {
        match self.paper {
            None | Some(Paper::A4) => "a4",
            Some(Paper::Letter) => "letter",
        }
    }
}

/// Sizes of paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paper {
    A4,
    Letter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Policy {
    /// `bcube-5.2` for a BCube that packs so, `side-to-side` for Subways types 1 and 2, else
    /// `locality`.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// `[bcube §5.2]`
    #[serde(rename = "bcube-5.2")]
    Bcube52,
    #[serde(rename = "locality")]
    Locality,
    /// `[subways §7.2.1]`
    #[serde(rename = "side-to-side")]
    SideToSide,
    /// `[subways §7.2.2]`
    #[serde(rename = "paired-rows")]
    PairedRows,
    /// `[subways §7.2.3]`
    #[serde(rename = "inter-chassis")]
    InterChassis,
}

impl Policy {
    pub fn name(self) -> &'static str {
        match self {
            Policy::Auto => "auto",
            Policy::Bcube52 => "bcube-5.2",
            Policy::Locality => "locality",
            Policy::SideToSide => "side-to-side",
            Policy::PairedRows => "paired-rows",
            Policy::InterChassis => "inter-chassis",
        }
    }
}

/// The side of the rack that device ports are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Face {
    #[default]
    Front,
    Rear,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PackagingSpec {
    pub policy: Policy,
    /// Servers side by side in the height of one server; the server part's own figure by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers_per_unit: Option<u32>,
    /// Switches side by side in one unit, for switches that allow it; the switch part's own figure
    /// by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches_per_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers_per_rack: Option<u32>,
    /// Logical racks per rack, Subways' b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_racks_per_rack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<Face>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
}

/// Fixes a position: a device in a rack (and unit), or a rack on the floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub rack: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_metres: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_metres: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    #[default]
    Auto,
    Cat6,
    Dac,
    Aoc,
    Fibre,
}

/// Ready-made lengths, or cut to length from bulk where the part is sold so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stock {
    #[default]
    Stock,
    Bulk,
}

/// The end of a link at which a breakout cable has its one plug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrunkEnd {
    /// The switch above: servers, or switches below, are at the branches.
    #[default]
    Upper,
    /// The switch below: its uplinks are the branches.
    Lower,
}

/// The links of one level in breakout cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakoutRule {
    pub level: u8,
    /// Links to a cable.
    pub links: u8,
    #[serde(default)]
    pub trunk: TrunkEnd,
}

/// Most links of one breakout cable: an 800G port into eight of 100G.
pub const BREAKOUT_LINKS_AT_MOST: u8 = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CablingSpec {
    /// Added to the geometric length of each cable, both ends together.
    pub slack_metres: f64,
    /// Share of a tray's cross-section that cables may take. Above `USUAL_TRAY_FILL` it accepts
    /// fuller trays; trays are still chosen for the usual fill.
    pub tray_fill_limit: f64,
    /// Most trays side by side where one is too full; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trays_side_by_side: Option<u32>,
    /// Overrides the topology's link rates when cables are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_gbps: Option<f64>,
    pub media: Media,
    pub stock: Stock,
    /// Levels whose links share cables, several to one plug of a switch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakouts: Vec<BreakoutRule>,
    /// Spare cables, as a share of those installed, rounded up a line.
    pub spare_ratio: f64,
}

/// Fill of a tray that leaves room to pull and to add `[ours]`.
pub const USUAL_TRAY_FILL: f64 = 0.5;

impl Default for CablingSpec {
    fn default() -> Self {
        CablingSpec {
            slack_metres: 0.5,
            tray_fill_limit: USUAL_TRAY_FILL,
            trays_side_by_side: None,
            link_gbps: None,
            media: Media::Auto,
            stock: Stock::Stock,
            breakouts: Vec::new(),
            spare_ratio: 0.03,
        }
    }
}

impl PlanSpec {
    /// A plan of `topology` with every default.
    pub fn of(topology: TopologySpec) -> PlanSpec {
        PlanSpec {
            topology,
            site: SiteSpec::default(),
            packaging: PackagingSpec::default(),
            cabling: CablingSpec::default(),
            catalog: None,
        }
    }

    /// The spec with every `auto` and every default replaced by what the layout chose. Planning it
    /// again gives the same plan.
    #[must_use]
    pub fn filled(&self, layout: &Layout, book: &Book) -> PlanSpec {
        let mut out = self.clone();
        let site = &layout.site;
        let rows = site.enclosure == Enclosure::Rows;
        out.topology = self.topology.resolve();
        out.catalog = Some(book.book.clone());
        out.site.enclosure = site.enclosure;
        out.site.addresses = out.site.addresses.filter(|addresses| !addresses.is_empty());
        out.site.aisle_metres = Some(site.aisle_metres);
        out.site.rack = site
            .rack_part
            .map(|i| book.parts[i].sku.clone())
            .or(self.site.rack.clone());
        out.site.rack_power_limit_watts = site.rack_power_limit_watts;
        out.site.rack_weight_limit_kg = site.rack_weight_limit_kg;
        if rows {
            // A row that is longer than its racks need keeps its length.
            out.site.racks_per_row = self.site.racks_per_row.or(Some(site.positions));
            out.site.height_metres = Some(site.height_metres);
        } else {
            out.site.containers = Some(site.containers);
            out.site.columns = Some(site.columns);
        }
        out.packaging.policy = layout.policy;
        out.packaging.servers_per_unit = layout.placements.slots.first().map(|&slots| u32::from(slots));
        out.packaging.face = Some(self.packaging.face.unwrap_or_default());
        if layout.loop_racks.is_some() {
            out.packaging.logical_racks_per_rack = Some(layout.logical_racks_per_rack);
        }
        out
    }

    /// The prefix of every host name of the plan: the site's prefix and a hyphen, or nothing.
    pub fn host_prefix(&self) -> String {
        self.site
            .host_prefix
            .as_ref()
            .map_or(String::new(), |prefix| format!("{prefix}-"))
    }

    /// Values out of range, each named with its limit. Errors mean that there is nothing sensible
    /// to plan.
    pub fn validate(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (site, packaging, cabling) = (&self.site, &self.packaging, &self.cabling);
        let mut positive = |section: &str, field: &str, value: Option<f64>, max: f64| {
            if let Some(value) = value.filter(|v| !v.is_finite() || *v <= 0.0 || *v > max) {
                findings.push(out_of_range(
                    section,
                    field,
                    json!(value),
                    &format!("above 0 and at most {max}"),
                ));
            }
        };
        positive("site", "length_metres", site.length_metres, 10_000.0);
        positive("site", "width_metres", site.width_metres, 10_000.0);
        positive("site", "height_metres", site.height_metres, 100.0);
        positive("site", "aisle_metres", site.aisle_metres, 100.0);
        positive("site", "rack_power_limit_watts", site.rack_power_limit_watts, 1e9);
        positive("site", "rack_weight_limit_kg", site.rack_weight_limit_kg, 1e9);
        positive("site", "power_limit_watts", site.power_limit_watts, 1e12);
        positive("site", "cooling_limit_watts", site.cooling_limit_watts, 1e12);
        positive("site", "gross_mass_limit_kg", site.gross_mass_limit_kg, 1e12);
        let floor = site.floor_load_limit_kg_per_m2;
        positive("site", "floor_load_limit_kg_per_m2", floor, 1e9);
        positive("cabling", "link_gbps", cabling.link_gbps, 1e6);
        positive("cabling", "tray_fill_limit", Some(cabling.tray_fill_limit), 1.0);
        let mut count = |section: &str, field: &str, value: Option<u32>, max: u32| {
            if let Some(value) = value.filter(|v| *v == 0 || *v > max) {
                findings.push(out_of_range(section, field, json!(value), &format!("1 to {max}")));
            }
        };
        count("site", "containers", site.containers, 10_000);
        count("site", "columns", site.columns, 1_000);
        count("site", "racks_per_row", site.racks_per_row, 100_000);
        count("packaging", "servers_per_unit", packaging.servers_per_unit, 16);
        count("packaging", "switches_per_unit", packaging.switches_per_unit, 16);
        count("packaging", "servers_per_rack", packaging.servers_per_rack, 1_000);
        count(
            "packaging",
            "logical_racks_per_rack",
            packaging.logical_racks_per_rack,
            64,
        );
        count("cabling", "trays_side_by_side", cabling.trays_side_by_side, 8);
        for (i, rule) in cabling.breakouts.iter().enumerate() {
            if !(2..=BREAKOUT_LINKS_AT_MOST).contains(&rule.links) {
                let limit = format!("2 to {BREAKOUT_LINKS_AT_MOST}");
                let mut finding = out_of_range("cabling", "breakouts", json!(rule.links), &limit);
                finding.field = format!("cabling.breakouts[{i}].links");
                findings.push(finding);
            }
        }
        findings.extend(site.host_prefix.as_deref().and_then(check_host_prefix));
        findings.extend(self.too_long_host_name());
        findings.extend(self.of_a_run());
        for (field, value, max) in [
            ("slack_metres", cabling.slack_metres, 100.0),
            ("spare_ratio", cabling.spare_ratio, 1.0),
        ] {
            if !value.is_finite() || value < 0.0 || value > max {
                findings.push(out_of_range(
                    "cabling",
                    field,
                    json!(value),
                    &format!("0 to {max}"),
                ));
            }
        }
        findings
    }
}

impl PlanSpec {
    /// The finding for what only the network of a run has, while it is upgraded.
    fn of_a_run(&self) -> Option<Finding> {
        let TopologySpec::Subways(subways) = &self.topology else {
            return None;
        };
        let former = subways.former_type?;
        let finding = Finding::error(
            "subways-former-type",
            "topology.former_type",
            "former_type is of a run that is being upgraded, but the ToRs of a plan have the uplinks of one type.",
            "Leave it out.",
        );
        Some(
            finding
                .with_value(former)
                .with_topology_fix("former_type", json!(null)),
        )
    }

    /// The finding for a name that a user gives a node and that is too long behind the site's
    /// prefix.
    fn too_long_host_name(&self) -> Option<Finding> {
        let (TopologySpec::Custom(custom), Some(prefix)) = (&self.topology, &self.site.host_prefix) else {
            return None;
        };
        let most = HOST_NAME_MAX_CHARACTERS - (prefix.len() + 1).min(HOST_NAME_MAX_CHARACTERS);
        let row = custom.nodes.iter().position(|node| node.name.len() > most)?;
        let name = &custom.nodes[row].name;
        let finding = Finding::error(
            "custom-name-too-long",
            format!("topology.nodes[{row}].name"),
            format!(
                "\"{name}\" has {} characters; behind the site's prefix host names have {most} left.",
                name.len()
            ),
            "Shorten the name, or leave site.host_prefix out.",
        );
        let finding = finding.with_value(name.as_str()).with_limit(most);
        Some(finding.with_fix(json!({"site": {"host_prefix": null}})))
    }
}

/// Longest prefix of host names; a host name of any family (but custom, whose names are checked)
/// then stays far below the 63 characters of DNS. [ours]
pub(crate) const HOST_PREFIX_MAX_CHARACTERS: usize = 24;

/// The finding for a prefix that would make illegal host names.
fn check_host_prefix(prefix: &str) -> Option<Finding> {
    let legal = prefix.len() <= HOST_PREFIX_MAX_CHARACTERS
        && prefix.starts_with(|first: char| first.is_ascii_lowercase())
        && !prefix.ends_with('-')
        && prefix
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let limit = format!(
        "1 to {HOST_PREFIX_MAX_CHARACTERS} lower-case letters, digits and hyphens, with a letter first and no hyphen last"
    );
    (!legal).then(|| out_of_range("site", "host_prefix", json!(prefix), &limit))
}

fn out_of_range(section: &str, field: &str, value: Value, limit: &str) -> Finding {
    let mut finding = Finding::error(
        "out-of-range",
        format!("{section}.{field}"),
        format!("{section}.{field} is {value}; it must be {limit}."),
        format!("Give a value of {limit}, or leave it out for the default."),
    )
    .with_fix(json!({section: {field: null}}));
    finding.value = Some(value);
    finding.limit = Some(json!(limit));
    finding
}

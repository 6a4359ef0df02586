//! What a planner writes: topology, site, packaging, cabling, and the price book to use.
//!
//! Every field but the topology may be left out; [`PlanSpec::filled`] puts the defaults in place, so that a plan
//! can be hashed and shown with nothing hidden. Unknown fields are errors that name the field.

use cubeyard_topology::{Finding, Severity, TopologySpec};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The whole input of a plan. A bare topology spec (an object with `family`) is promoted to `{"topology": ...}`.
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

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSpec {
    pub enclosure: Enclosure,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Policy {
    /// `bcube-5.2` for a BCube that packs so, `side-to-side` for Subways types 1 and 2, else `locality`.
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
    /// Switches side by side in one unit, for switches that allow it; the switch part's own figure by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches_per_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers_per_rack: Option<u32>,
    /// Subways' b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_racks_per_rack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub face: Option<Face>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
}

/// "This one stands there": a device into a rack (and unit), or a rack to a spot on the floor.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CablingSpec {
    /// Added to the geometric length of each cable, both ends together.
    pub slack_metres: f64,
    /// Share of a tray's cross-section that cables may take.
    pub tray_fill_limit: f64,
    /// Overrides the topology's link rates when cables are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_gbps: Option<f64>,
    pub media: Media,
    pub stock: Stock,
    /// Spare cables, as a share of those installed, rounded up a line.
    pub spare_ratio: f64,
}

impl Default for CablingSpec {
    fn default() -> Self {
        CablingSpec {
            slack_metres: 0.5,
            tray_fill_limit: 0.5,
            link_gbps: None,
            media: Media::Auto,
            stock: Stock::Stock,
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
}

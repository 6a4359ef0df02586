//! JSON schema of a plan spec: forms, documentation and the API's own description come from it.

use serde_json::{Value, json};

use crate::addresses::{DNS_SERVERS_AT_MOST, DOMAIN_MAX_CHARACTERS};
use crate::spec::{BREAKOUT_LINKS_AT_MOST, CablingSpec, HOST_PREFIX_MAX_CHARACTERS};

/// The schema (draft 2020-12) of a plan spec. The topology's part is the families' own description.
pub fn plan_schema() -> Value {
    let optional = |schema: Value| {
        let mut schema = schema;
        if let Some(word) = schema.get("type").and_then(Value::as_str).map(str::to_owned) {
            schema["type"] = json!([word, "null"]);
        }
        schema
    };
    let metres = |doc: &str, max: f64| {
        optional(
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": max, "description": doc, "x-unit": "m"}),
        )
    };
    let count = |doc: &str, max: u32| {
        optional(json!({"type": "integer", "minimum": 1, "maximum": max, "description": doc}))
    };
    let limit = |doc: &str, unit: &str| {
        optional(json!({"type": "number", "exclusiveMinimum": 0, "description": doc, "x-unit": unit}))
    };
    let cabling = CablingSpec::default();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plan spec",
        "description": "A plan. Every field but the topology may be left out.",
        "type": "object",
        "required": ["topology"],
        "additionalProperties": false,
        "properties": {
            "topology": cubeyard_topology::json_schema(),
            "site": {
                "type": "object",
                "description": "The container or room of the plan.",
                "additionalProperties": false,
                "properties": {
                    "enclosure": {
                        "enum": ["auto", "container-40ft", "container-20ft", "custom", "rows"],
                        "default": "auto",
                        "description": "auto: a 40-ft container if everything fits, else open rows.",
                    },
                    "host_prefix": optional(json!({
                        "type": "string",
                        "pattern": "^[a-z]([a-z0-9-]*[a-z0-9])?$",
                        "maxLength": HOST_PREFIX_MAX_CHARACTERS,
                        "description": "Prefix of every host name: dc-a gives dc-a-h0132. Default: nothing.",
                    })),
                    "paper": optional(json!({"enum": ["a4", "letter", null], "description": "Paper of the workbook, and of the label sheets in the install pack and the bill. Default: a4."})),
                    "addresses": optional(json!({
                        "type": "object",
                        "description": "IPv4 addresses of the devices in exports.",
                        "additionalProperties": false,
                        "properties": {
                            "servers": optional(json!({"type": "string", "description": "Network of the servers, such as 10.20.0.0/16. Default: 10.0.0.0 with the prefix that the plan needs."})),
                            "switches": optional(json!({"type": "string", "description": "Network of the switches. Default: 172.16.0.0 with the prefix that the plan needs."})),
                            "gateway": optional(json!({"type": "string", "description": "Router, in one of the two networks. No device gets its address."})),
                            "dns": {"type": "array", "maxItems": DNS_SERVERS_AT_MOST, "items": {"type": "string"}, "description": "Addresses of the DNS servers."},
                            "domain": optional(json!({"type": "string", "maxLength": DOMAIN_MAX_CHARACTERS, "description": "DNS domain of the host names, such as dc1.example.org."})),
                        },
                    })),
                    "length_metres": metres("Inside length of a custom enclosure.", 10_000.0),
                    "width_metres": metres("Inside width of a custom enclosure.", 10_000.0),
                    "height_metres": metres("Inside height of a custom enclosure.", 100.0),
                    "containers": count("Number of containers.", 10_000),
                    "columns": count("Columns of racks in one container.", 1_000),
                    "aisle_metres": metres("Width of the aisle that racks face each other across.", 100.0),
                    "racks_per_row": count("Racks in one open row.", 100_000),
                    "rack": optional(json!({"type": "string", "description": "SKU of the rack part."})),
                    "rack_power_limit_watts": optional(json!({"type": "number", "exclusiveMinimum": 0, "x-unit": "W"})),
                    "rack_weight_limit_kg": optional(json!({"type": "number", "exclusiveMinimum": 0, "x-unit": "kg"})),
                    "power_limit_watts": limit("Power feed of one container, or of the room. Default: the catalog's usual feed.", "W"),
                    "cooling_limit_watts": limit("Heat that the cooling of one container, or of the room, takes away. Default: the catalog's.", "W"),
                    "gross_mass_limit_kg": limit("Most that one container may weigh with everything in it. Default: the catalog's.", "kg"),
                    "floor_load_limit_kg_per_m2": limit("Spread load that the floor under the racks bears. Default: the catalog's.", "kg/m2"),
                },
            },
            "packaging": {
                "type": "object",
                "description": "The rule that assigns devices to racks.",
                "additionalProperties": false,
                "properties": {
                    "policy": {
                        "enum": ["auto", "bcube-5.2", "locality", "side-to-side", "paired-rows", "inter-chassis"],
                        "default": "auto",
                    },
                    "servers_per_unit": count("Servers side by side in the height of one server.", 16),
                    "switches_per_unit": count("Switches side by side, if the model allows it.", 16),
                    "servers_per_rack": count("Most servers in one rack.", 1_000),
                    "logical_racks_per_rack": count("Logical racks of a Subways loop in one physical rack.", 64),
                    "face": optional(json!({"enum": ["front", "rear", null], "description": "The side of the ports."})),
                    "pins": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["rack"],
                            "additionalProperties": false,
                            "properties": {
                                "device": optional(json!({"type": "string"})),
                                "rack": {"type": "string"},
                                "unit": count("Bottom unit, from 1.", 200),
                                "x_metres": optional(json!({"type": "number"})),
                                "y_metres": optional(json!({"type": "number"})),
                            },
                        },
                    },
                },
            },
            "cabling": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "slack_metres": {"type": "number", "minimum": 0, "maximum": 100, "default": cabling.slack_metres, "x-unit": "m"},
                    "tray_fill_limit": {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": cabling.tray_fill_limit,
                        "description": "Share of a tray that cables may fill. Above the default, fuller trays are accepted and reported as accepted."},
                    "trays_side_by_side": count("The largest number of trays side by side if one is too full; default: 1.", 8),
                    "link_gbps": optional(json!({"type": "number", "exclusiveMinimum": 0, "x-unit": "Gb/s"})),
                    "media": {"enum": ["auto", "cat6", "dac", "aoc", "fibre"], "default": "auto"},
                    "stock": {"enum": ["stock", "bulk"], "default": "stock"},
                    "breakouts": {
                        "type": "array",
                        "description": "Levels whose links share breakout cables: one plug at a switch, several links.",
                        "items": {
                            "type": "object",
                            "required": ["level", "links"],
                            "additionalProperties": false,
                            "properties": {
                                "level": {"type": "integer", "minimum": 0, "maximum": 255, "description": "Level of the links."},
                                "links": {"type": "integer", "minimum": 2, "maximum": BREAKOUT_LINKS_AT_MOST, "description": "Links of a cable."},
                                "trunk": {"enum": ["upper", "lower"], "default": "upper",
                                    "description": "The switch with the single plug: the upper or the lower."},
                            },
                        },
                    },
                    "spare_ratio": {"type": "number", "minimum": 0, "maximum": 1, "default": cabling.spare_ratio,
                        "description": "Spares to order, as a share of the cables, plugs, transceivers and labels. With 0 no spare switches are ordered either; their share is the catalog's."},
                },
            },
            "catalog": optional(json!({"type": "string", "description": "Price book; its parts and prices are pinned by the plan's hash."})),
        },
    })
}

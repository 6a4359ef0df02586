//! The candidates: every combination of the families' parameters that has the right number of
//! servers.
//!
//! A family's parameters, names and limits come from its description in `topology`;
//! only the values to try (`AXES`) are here, and a request can replace them. One parameter of a
//! family determines its size and is computed from the number of servers.

use std::collections::{BTreeMap, HashSet};

use cubeyard_topology::{Finding, Size, TopologySpec, families};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most combinations of values that are examined.
pub const MOST_COMBINATIONS: u64 = 2_000_000;
/// The most values of a parameter.
const MOST_VALUES: usize = 256;
const DEFAULT_STEPS: u32 = 8;
const MOST_STEPS: u32 = 64;

/// The plans to try. Omitted fields have defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpaceSpec {
    /// The families; default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<String>>,
    /// Values of parameters by family and name, instead of the usual ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// For families that take any number of servers: how many numbers to try, evenly spaced.
    pub server_steps: u32,
    /// The most servers of a plan; default: twice the least number that the constraints allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_servers: Option<u64>,
}

impl Default for SpaceSpec {
    fn default() -> SpaceSpec {
        SpaceSpec {
            families: None,
            values: BTreeMap::new(),
            server_steps: DEFAULT_STEPS,
            most_servers: None,
        }
    }
}

/// All values of a range, including both ends.
#[derive(Clone, Copy, Debug)]
enum Tried {
    Each(&'static [f64]),
    Range { from: u32, to: u32, step: u32 },
}

impl Tried {
    fn values(self) -> Vec<f64> {
        match self {
            Tried::Each(values) => values.to_vec(),
            Tried::Range { from, to, step } => (from..=to).step_by(step as usize).map(f64::from).collect(),
        }
    }
}

const fn range(from: u32, to: u32, step: u32) -> Tried {
    Tried::Range { from, to, step }
}

/// The values to try for each family except custom networks, which have no parameters to vary.
/// `sized`: the parameter that is computed from the number of servers, if there is one.
struct Axes {
    family: &'static str,
    tried: &'static [(&'static str, Tried)],
    sized: Option<&'static str>,
}

const AXES: &[Axes] = &[
    Axes {
        family: "bcube",
        tried: &[("n", range(2, 64, 1)), ("k", range(1, 4, 1))],
        sized: Some("servers"),
    },
    Axes {
        family: "dcell",
        tried: &[
            ("n", range(2, 64, 1)),
            ("k", range(1, 3, 1)),
            ("growth", Tried::Each(&[0.0, 1.0])),
        ],
        sized: Some("servers"),
    },
    Axes {
        family: "torus3d",
        tried: &[
            ("x", range(3, 24, 1)),
            ("y", range(3, 24, 1)),
            ("z", range(3, 48, 1)),
        ],
        sized: None,
    },
    Axes {
        family: "subways",
        tried: &[
            ("type", Tried::Each(&[0.0, 1.0, 2.0])),
            ("p", range(1, 4, 1)),
            (
                "q",
                Tried::Each(&[12.0, 16.0, 24.0, 32.0, 36.0, 40.0, 48.0, 64.0]),
            ),
            ("l", Tried::Each(&[2.0, 4.0, 6.0, 8.0, 12.0, 16.0])),
            ("c", Tried::Each(&[1.0, 2.0])),
            ("clusters", Tried::Each(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0])),
            ("loops_per_cluster", Tried::Each(&[1.0, 2.0, 4.0])),
        ],
        sized: None,
    },
    Axes {
        family: "fat_tree",
        tried: &[("ports", range(4, 64, 2)), ("layers", range(2, 5, 1))],
        sized: Some("servers"),
    },
    Axes {
        family: "tree",
        tried: &[("edge_ports", range(8, 64, 4)), ("root_ports", range(8, 128, 8))],
        sized: Some("servers"),
    },
    Axes {
        family: "leaf_spine",
        tried: &[
            (
                "servers_per_leaf",
                Tried::Each(&[8.0, 16.0, 20.0, 24.0, 32.0, 40.0, 48.0]),
            ),
            ("spines", Tried::Each(&[2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])),
            ("uplinks_per_spine", Tried::Each(&[1.0, 2.0])),
            ("server_gbps", Tried::Each(&[1.0, 10.0, 25.0])),
            ("uplink_gbps", Tried::Each(&[10.0, 40.0, 100.0])),
            ("super_spines", Tried::Each(&[0.0, 8.0])),
            ("pods", Tried::Each(&[1.0, 4.0])),
        ],
        sized: Some("leaves"),
    },
    Axes {
        family: "torus2d",
        tried: &[("x", range(3, 64, 1)), ("y", range(3, 64, 1))],
        sized: None,
    },
    Axes {
        family: "jellyfish",
        tried: &[
            ("ports", Tried::Each(&[16.0, 24.0, 32.0, 48.0, 64.0])),
            (
                "servers_per_switch",
                Tried::Each(&[4.0, 6.0, 8.0, 12.0, 16.0, 20.0, 24.0, 32.0]),
            ),
            ("link_gbps", Tried::Each(&[1.0, 10.0, 25.0])),
        ],
        sized: Some("switches"),
    },
    Axes {
        family: "dragonfly",
        tried: &[
            ("a", Tried::Each(&[4.0, 6.0, 8.0, 10.0, 12.0, 16.0])),
            ("p", Tried::Each(&[2.0, 3.0, 4.0, 5.0, 6.0, 8.0])),
            ("h", Tried::Each(&[2.0, 3.0, 4.0, 5.0, 6.0, 8.0])),
            ("groups", range(2, 129, 1)),
            ("link_gbps", Tried::Each(&[10.0, 25.0])),
        ],
        sized: None,
    },
];

/// A topology that is possible and has the right number of servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// With the parameters that were tried.
    pub topology: TopologySpec,
    /// The candidate's counts.
    pub size: Size,
}

/// The candidates of a space, with statistics of the enumeration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// Family by family, in the order of their parameters' values.
    pub candidates: Vec<Candidate>,
    /// Number of combinations of values.
    pub combinations: u64,
}

impl SpaceSpec {
    /// Adds a finding for everything that is not possible.
    pub fn check(&self, findings: &mut Vec<Finding>) {
        let described = families();
        let names: Vec<&str> = AXES.iter().map(|axes| axes.family).collect();
        let unknown = |field: String, name: &str| {
            Finding::error(
                "search-no-such-family",
                field,
                format!("There is no family {name}."),
                format!("Use some of {}.", names.join(", ")),
            )
            .with_value(name)
        };
        let chosen = self.families.iter().flatten().enumerate();
        findings.extend(
            chosen
                .filter(|(_, name)| !names.contains(&name.as_str()))
                .map(|(i, name)| unknown(format!("space.families[{i}]"), name)),
        );
        if self.families.as_ref().is_some_and(Vec::is_empty) {
            findings.push(Finding::error(
                "search-no-family",
                "space.families",
                "No family is left to try.",
                "Name some, or leave the field out for all.",
            ));
        }
        if !(1..=MOST_STEPS).contains(&self.server_steps) {
            findings.push(
                Finding::error(
                    "search-steps",
                    "space.server_steps",
                    format!("server_steps is {}.", self.server_steps),
                    format!("Give 1 to {MOST_STEPS}."),
                )
                .with_value(self.server_steps)
                .with_limit(MOST_STEPS),
            );
        }
        for (family, parameters) in &self.values {
            match AXES.iter().find(|axes| axes.family == family) {
                None => findings.push(unknown(format!("space.values.{family}"), family)),
                Some(axes) => check_values(axes, parameters, &described, findings),
            }
        }
        if findings.is_empty() && self.combinations() > MOST_COMBINATIONS {
            findings.push(
                Finding::error(
                    "search-too-many",
                    "space.values",
                    format!("These are {} combinations.", self.combinations()),
                    "Give fewer values, families or server_steps.",
                )
                .with_value(self.combinations())
                .with_limit(MOST_COMBINATIONS),
            );
        }
    }

    fn axes(&self) -> impl Iterator<Item = &'static Axes> {
        AXES.iter().filter(|axes| {
            self.families
                .as_ref()
                .is_none_or(|chosen| chosen.iter().any(|item| item == axes.family))
        })
    }

    /// The values of a family's parameters: the usual values, replaced and completed by the
    /// request's.
    fn values_of(&self, axes: &Axes) -> Vec<(String, Vec<f64>)> {
        let given = self.values.get(axes.family);
        let mut list: Vec<(String, Vec<f64>)> = axes
            .tried
            .iter()
            .map(|&(name, tried)| (name.to_owned(), tried.values()))
            .collect();
        for (name, values) in given.into_iter().flatten() {
            match list.iter_mut().find(|(other, _)| other == name) {
                Some((_, own)) => own.clone_from(values),
                None => list.push((name.clone(), values.clone())),
            }
        }
        list
    }

    fn combinations(&self) -> u64 {
        self.axes()
            .map(|axes| {
                let own = self
                    .values_of(axes)
                    .iter()
                    .map(|(_, values)| values.len() as u64)
                    .product::<u64>();
                let sized = axes.sized.map_or(1, |_| u64::from(self.server_steps));
                own.saturating_mul(sized)
            })
            .fold(0, u64::saturating_add)
    }

    /// Every candidate with `least..=most` servers. `goes_on` is called often; if it returns
    /// `false`, the enumeration ends with the candidates found.
    pub fn candidates(&self, (least, most): (u64, u64), goes_on: &dyn Fn() -> bool) -> Space {
        let mut space = Space::default();
        let mut seen = HashSet::new();
        for axes in self.axes() {
            let values = self.values_of(axes);
            let mut chosen = vec![0usize; values.len()];
            loop {
                let fields: Vec<(&str, f64)> = values
                    .iter()
                    .zip(&chosen)
                    .map(|((name, values), &i)| (name.as_str(), values[i]))
                    .collect();
                if !goes_on() {
                    return space;
                }
                if !repeats_another(axes.family, &fields) {
                    for sized in sizes(axes, &fields, (least, most), self.server_steps) {
                        space.combinations += 1;
                        let found = candidate(axes, &fields, sized)
                            .filter(|candidate| (least..=most).contains(&candidate.size.servers));
                        // Defaults filled in, two combinations can mean the same structure.
                        let found =
                            found.filter(|item| seen.insert(json!(item.topology.resolve()).to_string()));
                        space.candidates.extend(found);
                    }
                }
                if !advance(&mut chosen, &values) {
                    break;
                }
            }
        }
        space
    }
}

/// The next combination, the last parameter first; whether there is one.
fn advance(chosen: &mut [usize], values: &[(String, Vec<f64>)]) -> bool {
    for i in (0..chosen.len()).rev() {
        chosen[i] += 1;
        if chosen[i] < values[i].1.len() {
            return true;
        }
        chosen[i] = 0;
    }
    false
}

fn value_of(fields: &[(&str, f64)], name: &str) -> f64 {
    fields
        .iter()
        .find(|(other, _)| *other == name)
        .map_or(1.0, |field| field.1)
}

/// Whether the combination equals another one with reordered parameters, or differs only in a
/// parameter without effect.
fn repeats_another(family: &str, fields: &[(&str, f64)]) -> bool {
    let of = |name| value_of(fields, name);
    match family {
        // The axes of a torus can be exchanged.
        "torus3d" => of("x") > of("y") || of("y") > of("z"),
        "torus2d" => of("x") > of("y"),
        // Several pods need super-spines.
        "leaf_spine" => (of("super_spines") > 0.0) != (of("pods") > 1.0),
        // A loop is spread over clusters in type 2 only.
        "subways" => of("type") < 2.0 && of("c") > 1.0,
        _ => false,
    }
}

/// The values of the parameter that gives the size: evenly spread numbers of servers, rounded up to
/// numbers that the family allows.
fn sizes(
    axes: &Axes,
    fields: &[(&str, f64)],
    (least, most): (u64, u64),
    steps: u32,
) -> Vec<Option<(&'static str, u64)>> {
    let Some(name) = axes.sized else {
        return vec![None];
    };
    // Follows the family's own rule: whole BCubes of the level below, whole edge groups, equal
    // numbers of whole leaves in each pod.
    let group = match axes.family {
        "bcube" => value_of(fields, "n").powf(value_of(fields, "k")) as u64,
        "fat_tree" => value_of(fields, "ports") as u64 / 2,
        "leaf_spine" => (value_of(fields, "servers_per_leaf") * value_of(fields, "pods")) as u64,
        "jellyfish" => value_of(fields, "servers_per_switch") as u64,
        _ => 1,
    }
    .max(1);
    let per = if matches!(name, "leaves" | "switches") {
        group
    } else {
        1
    };
    let spread = u64::from(steps.saturating_sub(1)).max(1);
    let mut list: Vec<u64> = (0..u64::from(steps))
        .map(|step| (least + (most - least) * step / spread).div_ceil(group) * group)
        .filter(|&servers| servers <= most)
        .map(|servers| servers / per)
        .collect();
    list.dedup();
    list.into_iter().map(|size| Some((name, size))).collect()
}

fn candidate(axes: &Axes, fields: &[(&str, f64)], sized: Option<(&str, u64)>) -> Option<Candidate> {
    let mut object = Map::new();
    object.insert("family".to_owned(), json!(axes.family));
    for &(name, value) in fields {
        let whole = value.fract() == 0.0 && !name.ends_with("_gbps") && !name.ends_with("oversubscription");
        let value = if whole { json!(value as u64) } else { json!(value) };
        object.insert(name.to_owned(), value);
    }
    if let Some((name, size)) = sized {
        object.insert(name.to_owned(), json!(size));
    }
    let topology = TopologySpec::from_json(&Value::Object(object)).ok()?;
    let size = topology.size().ok()?;
    Some(Candidate { topology, size })
}

fn check_values(
    axes: &Axes,
    parameters: &BTreeMap<String, Vec<f64>>,
    described: &Value,
    findings: &mut Vec<Finding>,
) {
    let family = axes.family;
    let of_family = described.as_array().into_iter().flatten();
    let all = of_family
        .filter(|of_family| of_family["family"] == family)
        .flat_map(|item| item["parameters"].as_array().into_iter().flatten());
    let open: Vec<&Value> = all
        .filter(|item| item["kind"] != "list" && Some(item["name"].as_str().unwrap_or("")) != axes.sized)
        .collect();
    for (name, values) in parameters {
        let field = format!("space.values.{family}.{name}");
        let Some(parameter) = open.iter().find(|item| item["name"] == name.as_str()) else {
            let names: Vec<&str> = open.iter().filter_map(|item| item["name"].as_str()).collect();
            let hint = format!("Use {}. The size follows from the servers.", names.join(", "));
            let message = format!("{family} has no parameter {name} to try values of.");
            findings.push(
                Finding::error("search-no-such-parameter", field, message, hint).with_value(name.as_str()),
            );
            continue;
        };
        if values.is_empty() || values.len() > MOST_VALUES {
            let message = format!("{name} has {} values.", values.len());
            let hint = format!("Give 1 to {MOST_VALUES}.");
            findings.push(
                Finding::error("search-values", field, message, hint)
                    .with_value(values.len())
                    .with_limit(MOST_VALUES),
            );
            continue;
        }
        let (min, max) = (
            parameter["min"].as_f64().unwrap_or(f64::NEG_INFINITY),
            parameter["max"].as_f64().unwrap_or(f64::INFINITY),
        );
        let whole = parameter["kind"] != "number";
        for &value in values {
            if !(min..=max).contains(&value) || whole && value.fract() != 0.0 {
                let kind = if whole { "whole numbers" } else { "numbers" };
                findings.push(
                    Finding::error(
                        "search-value",
                        field.as_str(),
                        format!("{name} cannot be {value}."),
                        format!("Give {kind} from {min} to {max}."),
                    )
                    .with_value(value)
                    .with_limit(max),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_tried_with_values_that_its_description_allows() {
        let described = families();
        let all = described.as_array().expect("a list");
        // All but custom networks.
        assert_eq!(all.len(), AXES.len() + 1, "a new family needs values to try");
        for axes in AXES {
            let tried = axes
                .tried
                .iter()
                .map(|&(name, tried)| (name.to_owned(), tried.values()))
                .collect();
            let mut findings = Vec::new();
            check_values(axes, &tried, &described, &mut findings);
            assert_eq!(findings, [], "{}", axes.family);
        }
    }

    #[test]
    fn the_usual_space_has_thousands_of_different_candidates_of_every_family() {
        let space = SpaceSpec::default().candidates((1500, 3000), &|| true);
        assert!(space.candidates.len() > 5000, "{}", space.candidates.len());
        for axes in AXES {
            let of_family = space
                .candidates
                .iter()
                .filter(|candidate| candidate.topology.family() == axes.family)
                .count();
            assert!(of_family > 20, "{}: {of_family}", axes.family);
        }
        assert!(
            space
                .candidates
                .iter()
                .all(|one| (1500..=3000).contains(&one.size.servers))
        );
    }
}

//! A pure function from a spec and a price book to all results of a plan.

use std::sync::OnceLock;

use cubeyard_topology::{Certificate, Csr, Finding, Severity, Topology, TopologyError, TopologySpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::addresses::Addresses;
use crate::bom::{Bom, bill};
use crate::book::Book;
use crate::cost::{Cost, cost};
use crate::enclosure::{self, SiteLimit};
use crate::hash::plan_hash;
use crate::layout::{Layout, lay_out};
use crate::power::{Power, power};
use crate::selection::PartSelection;
use crate::spec::PlanSpec;
use crate::wiring::{NO_PART, Wiring, breakouts, labels, wire};

/// The reasons why there is no plan: at least one finding is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanError {
    pub findings: Vec<Finding>,
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let errors = self.findings.iter().filter(|finding| finding.is_error());
        for (i, finding) in errors.enumerate() {
            let gap = if i > 0 { "; " } else { "" };
            write!(f, "{gap}{}: {} {}", finding.field, finding.message, finding.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

impl From<TopologyError> for PlanError {
    fn from(error: TopologyError) -> PlanError {
        PlanError {
            findings: error.findings,
        }
    }
}

impl From<Vec<Finding>> for PlanError {
    fn from(findings: Vec<Finding>) -> PlanError {
        PlanError { findings }
    }
}

/// Book parts that a plan uses, renumbered densely in book order, so that documents carry only
/// these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsedParts {
    /// Book index of each used part.
    pub book_index: Vec<u16>,
    /// By book index: the dense index, or `NO_PART`.
    pub dense: Vec<u16>,
}

impl UsedParts {
    fn of(book: &Book, selection: &PartSelection, wiring: &Wiring) -> UsedParts {
        let mut used = vec![false; book.parts.len()];
        let chosen = selection.tiers.iter().flatten().chain(selection.server.iter());
        chosen.for_each(|&part| used[part] = true);
        selection.nics.iter().for_each(|nic| used[nic.part] = true);
        for &part in wiring
            .part
            .iter()
            .chain(&wiring.transceiver)
            .filter(|&&p| p != NO_PART)
        {
            used[usize::from(part)] = true;
        }
        let mut out = UsedParts {
            book_index: Vec::new(),
            dense: vec![NO_PART; used.len()],
        };
        for part in (0..used.len()).filter(|&p| used[p]) {
            out.dense[part] = out.book_index.len() as u16;
            out.book_index.push(part as u16);
        }
        out
    }

    /// Dense index of a book part; `NO_PART` stays `NO_PART`.
    pub fn dense_of(&self, book_part: u16) -> u16 {
        self.dense.get(usize::from(book_part)).copied().unwrap_or(NO_PART)
    }
}

/// A whole plan. Device index = `NodeId`, cable index = link index: each link is a cable, or a leg
/// of a breakout cable.
#[derive(Debug)]
pub struct Plan {
    /// With every default filled in.
    pub spec: PlanSpec,
    pub book: Book,
    pub topology: Topology,
    pub layout: Layout,
    pub wiring: Wiring,
    pub bom: Bom,
    pub cost: Cost,
    pub power: Power,
    pub used_parts: UsedParts,
    pub addresses: Addresses,
    /// The limits of the enclosure and the loads on them.
    pub site_limits: Vec<SiteLimit>,
    /// Errors first, then warnings, then remarks.
    pub findings: Vec<Finding>,
    /// The hash of the plan; see [`plan_hash`].
    pub hash: String,
    certificate: OnceLock<Certificate>,
    adjacency: OnceLock<Csr>,
}

impl Plan {
    /// The wiring certificate, computed on first use.
    pub fn certificate(&self) -> &Certificate {
        self.certificate.get_or_init(|| self.topology.certificate())
    }

    /// The text on a cable's label at its `a` end, which names that end first.
    pub fn label(&self, cable: usize) -> String {
        labels::label(&self.topology, &self.layout, &self.wiring.breakouts, cable, true)
    }

    /// The text on a cable's label at its `b` end.
    pub fn far_label(&self, cable: usize) -> String {
        labels::label(&self.topology, &self.layout, &self.wiring.breakouts, cable, false)
    }

    /// Links by device, computed on first use.
    pub fn adjacency(&self) -> &Csr {
        self.adjacency.get_or_init(|| self.topology.adjacency())
    }
}

/// A plan's parts before it has a name: without the filled-in spec, the book and the hash that
/// needs both.
#[derive(Debug)]
pub struct Draft {
    pub topology: Topology,
    pub layout: Layout,
    pub wiring: Wiring,
    pub bom: Bom,
    pub cost: Cost,
    pub power: Power,
    pub addresses: Addresses,
    pub site_limits: Vec<SiteLimit>,
    /// Errors first, then warnings, then remarks.
    pub findings: Vec<Finding>,
}

/// Compute a plan. The same spec and book always give the same plan.
///
/// # Errors
/// [`PlanError`] with findings when there is nothing to draw; a plan with remarks carries them in
/// `findings`.
pub fn plan(spec: &PlanSpec, book: &Book) -> Result<Plan, PlanError> {
    let draft = assemble(spec, book, true)?;
    let resolved = spec.filled(&draft.layout, book);
    let used_parts = UsedParts::of(book, &draft.layout.parts, &draft.wiring);
    let hash = plan_hash(&resolved, book);
    Ok(Plan {
        spec: resolved,
        book: book.clone(),
        topology: draft.topology,
        layout: draft.layout,
        wiring: draft.wiring,
        bom: draft.bom,
        cost: draft.cost,
        power: draft.power,
        used_parts,
        addresses: draft.addresses,
        site_limits: draft.site_limits,
        findings: draft.findings,
        hash,
        certificate: OnceLock::new(),
        adjacency: OnceLock::new(),
    })
}

/// The same numbers for programs that make thousands of plans: findings propose no number of
/// containers for a mass over the limit, which takes up to three plans more, and nothing is hashed.
///
/// # Errors
/// The same as [`plan`].
pub fn draft(spec: &PlanSpec, book: &Book) -> Result<Draft, PlanError> {
    assemble(spec, book, false)
}

fn assemble(spec: &PlanSpec, book: &Book, repairs: bool) -> Result<Draft, PlanError> {
    let mut findings = spec.topology.validate();
    findings.extend(spec.validate());
    if findings.iter().any(Finding::is_error) {
        return Err(PlanError { findings });
    }
    let topology = Topology::build(&spec.topology)?;
    findings.extend(breakouts::check(&spec.cabling.breakouts, &topology));
    let addresses = Addresses::of(spec.site.addresses.as_ref(), &topology);
    let addresses = addresses.map_err(|errors| findings.extend(errors)).ok();
    let Some(addresses) = addresses.filter(|_| !findings.iter().any(Finding::is_error)) else {
        return Err(PlanError { findings });
    };
    let layout = lay_out(spec, &topology, book, &mut findings);
    let wiring = wire(spec, &topology, &layout, book, &mut findings);
    let mut bom = bill(spec, &topology, book, &layout, &wiring);
    let cost = cost(&bom.lines);
    let power = power(&topology, &layout.parts, book);

    let gross_kg_in = |containers| {
        if !repairs {
            return vec![f64::INFINITY];
        }
        let mut other = spec.clone();
        other.site.containers = Some(containers);
        let mut unsaid = Vec::new();
        let layout = lay_out(&other, &topology, book, &mut unsaid);
        let wiring = wire(&other, &topology, &layout, book, &mut unsaid);
        enclosure::gross_kg(&layout, book, &bill(&other, &topology, book, &layout, &wiring))
    };
    let site_limits = enclosure::check(
        spec,
        &layout,
        book,
        &bom,
        power.at_least,
        &gross_kg_in,
        &mut findings,
    );
    findings.append(&mut bom.findings);
    findings.sort_by_key(|finding| match finding.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    });
    Ok(Draft {
        topology,
        layout,
        wiring,
        bom,
        cost,
        power,
        addresses,
        site_limits,
        findings,
    })
}

/// Read a spec from JSON text: a plan spec, or a bare topology spec (an object with `family`).
///
/// # Errors
/// Findings that name the field, the value, the limit and the fix.
pub fn read_spec(text: &str) -> Result<PlanSpec, PlanError> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let message = format!("The spec is not JSON: {error}.");
        one(Finding::error(
            "spec-not-json",
            "spec",
            message,
            "Send one JSON object, for example {\"topology\": {...}}.",
        ))
    })?;
    let mut fields = match value {
        Value::Object(map) if map.contains_key("family") && !map.contains_key("topology") => {
            Map::from_iter([("topology".to_owned(), Value::Object(map))])
        }
        Value::Object(map) => map,
        _ => {
            let hint = "Send an object with \"topology\", and \"site\", \"packaging\", \"cabling\" or \"catalog\" as needed.";
            return Err(one(Finding::error(
                "spec-not-object",
                "spec",
                "The spec is not an object.",
                hint,
            )));
        }
    };
    let mut findings = Vec::new();
    let topology = match fields.remove("topology") {
        Some(value) => TopologySpec::from_json(&value)
            .map_err(|error| findings.extend(error.findings))
            .ok(),
        None => {
            findings.push(Finding::error(
                "spec-no-topology",
                "topology",
                "The spec has no topology.",
                "Add one, for example {\"topology\": {\"family\": \"bcube\", \"n\": 8, \"k\": 3}}.",
            ));
            None
        }
    };
    let site = section(&mut fields, "site", &mut findings);
    let packaging = section(&mut fields, "packaging", &mut findings);
    let cabling = section(&mut fields, "cabling", &mut findings);
    let catalog: Option<Option<String>> = section(&mut fields, "catalog", &mut findings);
    for name in fields.keys() {
        findings.push(Finding::error(
            "spec-unknown-field",
            name.as_str(),
            format!("A plan spec has no field \"{name}\"."),
            "Its fields are topology, site, packaging, cabling and catalog.",
        ));
    }
    match (topology, site, packaging, cabling, catalog) {
        (Some(topology), Some(site), Some(packaging), Some(cabling), Some(catalog))
            if findings.is_empty() =>
        {
            Ok(PlanSpec {
                topology,
                site,
                packaging,
                cabling,
                catalog,
            })
        }
        _ => Err(PlanError { findings }),
    }
}

/// One section; absent or null is its default. `None` after a finding has been added.
fn section<T: DeserializeOwned + Default>(
    fields: &mut Map<String, Value>,
    name: &'static str,
    findings: &mut Vec<Finding>,
) -> Option<T> {
    let value = match fields.remove(name) {
        None | Some(Value::Null) => return Some(T::default()),
        Some(value) => value,
    };
    match serde_path_to_error::deserialize::<_, T>(value.clone()) {
        Ok(section) => Some(section),
        Err(error) => {
            let path = error.path().to_string();
            let field = if path == "." {
                name.to_owned()
            } else {
                format!("{name}.{path}")
            };
            let offending = path.split('.').try_fold(&value, |at, key| at.get(key)).cloned();
            let mut finding = Finding::unreadable("spec-unreadable", field, error.inner());
            finding.value = offending;
            findings.push(finding);
            None
        }
    }
}

fn one(finding: Finding) -> PlanError {
    PlanError {
        findings: vec![finding],
    }
}

//! Addresses of devices: every device has its own inside its network, and a site's networks that
//! cannot hold them are refused with the field.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use cubeyard_plan::addresses::AddressSpec;
use cubeyard_plan::{Plan, PlanError, builtin_book, plan, read_spec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// 16 servers and 8 switches.
fn planned(addresses: &Value) -> Result<Plan, PlanError> {
    let spec = json!({"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"addresses": addresses}});
    let book = builtin_book("current-2026").expect("a built-in book");
    plan(&read_spec(&spec.to_string())?, &book)
}

fn addresses_of(plan: &Plan) -> Vec<Ipv4Addr> {
    let devices = 0..plan.topology.node_count();
    devices.map(|device| plan.addresses.of_device(device)).collect()
}

fn document(plan: &Plan) -> Value {
    plan.addresses
        .document(plan.spec.site.addresses.as_ref(), &plan.topology)
}

#[test]
fn without_the_field_addresses_are_those_of_the_lab_file_and_the_hash_is_the_same() {
    let default = planned(&Value::Null).unwrap();
    let addresses = addresses_of(&default);
    assert_eq!(addresses[0], Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(addresses[15], Ipv4Addr::new(10, 0, 0, 16));
    assert_eq!(addresses[16], Ipv4Addr::new(172, 16, 0, 1));
    let networks = json!({"servers": "10.0.0.0/24", "switches": "172.16.0.0/24", "gateways": {}, "dns": [], "domain": null});
    assert_eq!(document(&default), networks);
    let empty = planned(&json!({})).unwrap();
    assert_eq!(empty.hash, default.hash);
    let own = planned(&json!({"servers": "10.0.0.0/24"})).unwrap();
    assert_ne!(own.hash, default.hash);
}

#[test]
fn devices_have_the_addresses_of_the_site_without_the_gateway() {
    let site = json!({"servers": "10.20.0.0/27", "switches": "10.20.1.0/28", "gateway": "10.20.0.3", "dns": ["192.0.2.53"], "domain": "dc1.example.org"});
    let plan = planned(&site).unwrap();
    let addresses = addresses_of(&plan);
    let server = |last| Ipv4Addr::new(10, 20, 0, last);
    assert_eq!(addresses[..3], [server(1), server(2), server(4)]);
    assert_eq!(addresses[16], Ipv4Addr::new(10, 20, 1, 1));
    let expected = json!({
        "servers": "10.20.0.0/27", "switches": "10.20.1.0/28", "gateways": {"10.20.0.0/27": "10.20.0.3"},
        "dns": ["192.0.2.53"], "domain": "dc1.example.org",
    });
    assert_eq!(document(&plan), expected);
    assert_eq!(serde_json::to_value(&plan.spec.site.addresses).unwrap(), site);
}

#[test]
fn what_cannot_be_used_names_its_field() {
    let long = "a.".repeat(100) + "org";
    let cases = [
        (json!({"servers": "10.0.0.0"}), "address-network", "servers"),
        (json!({"servers": "fd00::/64"}), "address-network", "servers"),
        (json!({"servers": "10.0.0.0/+24"}), "address-network", "servers"),
        (json!({"switches": "10.0.0.0/7"}), "address-network", "switches"),
        (
            json!({"switches": "172.20.0.0/31"}),
            "address-network",
            "switches",
        ),
        (json!({"servers": "10.20.0.5/24"}), "address-network", "servers"),
        (json!({"servers": "127.0.0.0/8"}), "address-network", "servers"),
        (json!({"servers": "224.0.0.0/8"}), "address-network", "servers"),
        (json!({"servers": "169.254.1.0/24"}), "address-network", "servers"),
        (
            json!({"servers": "10.20.0.0/28"}),
            "address-network-small",
            "servers",
        ),
        (
            json!({"switches": "10.20.0.0/29"}),
            "address-network-small",
            "switches",
        ),
        (
            json!({"servers": "172.0.0.0/8"}),
            "address-networks-overlap",
            "servers",
        ),
        (
            json!({"switches": "10.0.0.128/25"}),
            "address-networks-overlap",
            "switches",
        ),
        (
            json!({"servers": "10.1.0.0/16", "switches": "10.1.2.0/24"}),
            "address-networks-overlap",
            "switches",
        ),
        (json!({"gateway": "10.9.0.1"}), "address-gateway", "gateway"),
        (json!({"gateway": "10.0.0.255"}), "address-gateway", "gateway"),
        (json!({"gateway": "10.0.0"}), "address-unreadable", "gateway"),
        (
            json!({"dns": ["10.0.0.1", "dns.example.org"]}),
            "address-unreadable",
            "dns[1]",
        ),
        (json!({"dns": vec!["10.0.0.1"; 9]}), "out-of-range", "dns"),
        (json!({"domain": "Example.org"}), "address-domain", "domain"),
        (json!({"domain": "example.org."}), "address-domain", "domain"),
        (json!({"domain": ""}), "address-domain", "domain"),
        (json!({"domain": long}), "address-domain", "domain"),
    ];
    for (site, code, field) in cases {
        let error = planned(&site).map(|_| ()).expect_err(&site.to_string());
        let finding = &error.findings[0];
        assert_eq!(error.findings.len(), 1, "{site}: {error}");
        assert_eq!(
            (finding.code, finding.field.as_str()),
            (code, format!("site.addresses.{field}").as_str())
        );
        assert!(
            finding.value.is_some() && finding.fix.is_some(),
            "{site}: {error}"
        );
    }
    let small = planned(&json!({"servers": "10.20.0.0/28"})).unwrap_err();
    assert_eq!(small.findings[0].limit, Some(json!("/27")));
    assert_eq!(
        small.findings[0].fix,
        Some(json!({"site": {"addresses": {"servers": "10.20.0.0/27"}}}))
    );
    let unknown = planned(&json!({"router": "10.0.0.1"})).unwrap_err();
    assert_eq!(unknown.findings[0].field, "site.addresses.router");
}

#[test]
fn a_gateway_takes_an_address_of_its_network_only() {
    let full = |gateway| json!({"servers": "10.20.0.0/28", "switches": "10.30.0.0/28", "gateway": gateway});
    assert_eq!(
        planned(&full("10.30.0.9")).unwrap_err().findings[0].field,
        "site.addresses.servers"
    );
    let switches = json!({"servers": "10.20.0.0/27", "switches": "10.30.0.0/28", "gateway": "10.30.0.9"});
    let plan = planned(&switches).unwrap();
    assert_eq!(addresses_of(&plan)[0], Ipv4Addr::new(10, 20, 0, 1));
    assert_eq!(addresses_of(&plan)[23], Ipv4Addr::new(10, 30, 0, 8));
}

proptest! {
    #[test]
    fn every_device_has_its_own_address_in_its_network(prefix in 8_u8..=30, gateway in 1_u32..1000, far in any::<bool>()) {
        let size = 1_u64 << (32 - prefix);
        let gateway = Ipv4Addr::from((10 << 24) + gateway);
        let site = json!({"servers": format!("10.0.0.0/{prefix}"), "switches": "192.168.8.0/24", "gateway": (!far).then(|| gateway.to_string())});
        let needed = 16 + u64::from(!far) + 2;
        let outside = !far && u64::from(gateway.to_bits() - (10 << 24)) >= size - 1;
        match planned(&site) {
            Err(error) => prop_assert!(size < needed || outside, "{}: {}", site, error),
            Ok(plan) => {
                prop_assert!(size >= needed && !outside, "{}", site);
                let addresses = addresses_of(&plan);
                prop_assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 24);
                prop_assert!(addresses.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(far || !addresses.contains(&gateway));
                let last = (10 << 24) + size as u32 - 1;
                prop_assert!(addresses[..16].iter().all(|at| ((10 << 24) + 1..last).contains(&at.to_bits())));
            }
        }
    }
}

#[test]
fn an_address_spec_without_values_is_empty() {
    assert!(AddressSpec::default().is_empty());
}

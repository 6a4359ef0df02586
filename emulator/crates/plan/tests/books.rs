//! The price books are well-formed and have sources, and parts are chosen by the rules.

use cubeyard_plan::book::{Basis, Book, PartKind};
use cubeyard_plan::choice::{NicChoice, PortDemand};
use cubeyard_plan::hash::book_hash;
use cubeyard_plan::{builtin_book, builtin_books};
use proptest::prelude::*;

fn book(id: &str) -> Book {
    builtin_book(id).expect("a built-in book")
}

fn sku(book: &Book, part: Option<usize>) -> Option<&str> {
    part.map(|i| book.parts[i].sku.as_str())
}

fn ports(ports: u32, gbps: f64) -> PortDemand {
    PortDemand { gbps, ports }
}

#[test]
fn the_built_in_books_are_sound_and_say_where_every_value_is_from() {
    for text in builtin_books() {
        let book = Book::from_json(text).unwrap_or_else(|findings| panic!("{findings:?}"));
        assert!(builtin_book(&book.book).is_some());
        for part in &book.parts {
            let mut fields: Vec<String> = vec!["price_usd".into(), "power_watts".into(), "weight_kg".into()];
            if let serde_json::Value::Object(map) =
                serde_json::to_value(&part.attributes).expect("plain data")
            {
                fields.extend(map.keys().cloned());
            }
            for field in fields {
                let source = part
                    .source(&field)
                    .unwrap_or_else(|| panic!("{} {field} has no source", part.sku));
                assert!(!source.source.is_empty());
                assert_eq!(source.date.len(), 10, "{} {field}: ISO date", part.sku);
            }
        }
    }
}

/// Our estimates are marked as such: no price of the current book cites a vendor or a paper.
#[test]
fn our_estimates_are_marked_assumed() {
    for part in &book("current-2026").parts {
        for field in ["price_usd", "power_watts", "length_prices_usd", "usd_per_hour"] {
            assert_eq!(
                part.source(field).map(|s| s.basis),
                Some(Basis::Assumed),
                "{} {field}",
                part.sku
            );
        }
    }
    // The paper's own: BCube section 8.
    for (part, price, watts) in [
        ("DGS-1008D", 40.0, 4.5),
        ("DGS-3100-48", 1250.0, 103.0),
        ("NIC-1PORT", 5.0, 5.0),
        ("NIC-4PORT", 20.0, 10.0),
        ("SERVER-2009", 2000.0, 200.0),
    ] {
        let book = book("paper-2009");
        let part = &book.parts[book.part_index(part).expect("the paper's part")];
        assert_eq!(
            (part.price_usd, part.power_watts),
            (Some(price), Some(watts)),
            "{}",
            part.sku
        );
        assert_eq!(
            part.source("price_usd").map(|s| (s.basis, s.source.as_str())),
            Some((Basis::Published, "[bcube §8]"))
        );
    }
}

#[test]
fn the_smallest_switch_that_fits_is_chosen() {
    let paper = book("paper-2009");
    assert_eq!(
        sku(&paper, paper.switch_for(&[ports(6, 1.0)], None)),
        Some("DGS-1008D"),
        "six ports: the 8-port switch"
    );
    assert_eq!(
        sku(&paper, paper.switch_for(&[ports(8, 1.0)], None)),
        Some("DGS-1008D")
    );
    assert_eq!(
        sku(&paper, paper.switch_for(&[ports(9, 1.0)], None)),
        Some("DGS-3100-48")
    );
    assert_eq!(
        sku(&paper, paper.switch_for(&[ports(49, 1.0)], None)),
        Some("DGS-3100-48"),
        "48 servers and an uplink"
    );
    assert_eq!(paper.switch_for(&[ports(51, 1.0)], None), None);
    assert_eq!(paper.switch_for(&[ports(8, 10.0)], None), None);

    let current = book("current-2026");
    let chosen = |demand: &[PortDemand], connector| sku(&current, current.switch_for(demand, connector));
    assert_eq!(chosen(&[ports(6, 1.0)], Some("rj45")), Some("SW-8X1GT"));
    assert_eq!(chosen(&[ports(8, 10.0)], Some("sfp")), Some("SW-8X10GS"));
    assert_eq!(chosen(&[ports(8, 10.0)], Some("rj45")), Some("SW-8X10GT"));
    assert_eq!(
        chosen(&[ports(30, 10.0), ports(6, 40.0)], Some("sfp")),
        Some("SW-48X10GS-6X100G")
    );
    assert_eq!(
        chosen(&[ports(30, 10.0), ports(7, 40.0)], Some("sfp")),
        Some("SW-48X10GS-12X100G")
    );
    assert_eq!(
        chosen(&[ports(48, 25.0), ports(8, 100.0)], None),
        Some("SW-48X25GS-8X100G")
    );
    assert_eq!(chosen(&[ports(15, 40.0)], None), Some("SW-16X40GQ"));
    assert_eq!(chosen(&[ports(33, 400.0)], None), Some("SW-64X400GQ"));
    assert_eq!(chosen(&[ports(10_000, 1.0)], None), None);
}

#[test]
fn the_fewest_then_smallest_cards_are_chosen() {
    let paper = book("paper-2009");
    let cards = |book: &Book, want: PortDemand| {
        book.nic_for(want, None)
            .map(|c| (book.parts[c.part].sku.clone(), c.cards))
    };
    assert_eq!(cards(&paper, ports(1, 1.0)), Some(("NIC-1PORT".into(), 1)));
    for n in 2..=4 {
        assert_eq!(
            cards(&paper, ports(n, 1.0)),
            Some(("NIC-4PORT".into(), 1)),
            "{n} ports"
        );
    }
    assert_eq!(cards(&paper, ports(6, 1.0)), Some(("NIC-4PORT".into(), 2)));
    assert_eq!(cards(&paper, ports(1, 10.0)), None);
    assert_eq!(paper.nic_for(ports(0, 1.0), None), None);
    let current = book("current-2026");
    assert_eq!(cards(&current, ports(6, 1.0)), Some(("NIC-6X1GT".into(), 1)));
}

#[test]
fn a_bad_book_names_part_field_and_value() {
    let mut broken = book("paper-2009");
    broken.currency = "EURO".into();
    broken.parts[0].price_usd = Some(-3.0);
    broken.parts[1].sku = broken.parts[0].sku.clone();
    broken.parts[2].attributes.ports = Some(0);
    broken.parts[3].sources.clear();
    let text = serde_json::to_string(&broken).expect("plain data");
    let findings = Book::from_json(&text).expect_err("a broken book");
    let fields: Vec<&str> = findings.iter().map(|f| f.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "book.currency",
            "book.parts[0].price_usd",
            "book.parts[1].sku",
            "book.parts[2].attributes.ports",
            "book.parts[3].sources"
        ]
    );
    assert!(findings[1].message.contains("-3"));
    let unknown = text.replacen("\"manufacturer\"", "\"colour_of_box\"", 1);
    let findings = Book::from_json(&unknown).expect_err("an unknown field");
    assert!(
        findings[0].message.contains("colour_of_box"),
        "{}",
        findings[0].message
    );
}

#[test]
fn the_hash_of_a_book_follows_its_content() {
    let one = book("paper-2009");
    let mut other = one.clone();
    assert_eq!(book_hash(&one), book_hash(&other));
    other.parts[0].price_usd = Some(41.0);
    assert_ne!(book_hash(&one), book_hash(&other));
}

proptest! {
    /// The chosen switch fits, and no smaller one does.
    #[test]
    fn no_smaller_switch_would_do(count in 1u32..200, gbps in prop::sample::select(vec![1.0, 10.0, 25.0, 40.0, 100.0, 400.0])) {
        let book = book("current-2026");
        let line_rate = |i: usize| {
            let a = &book.parts[i].attributes;
            f64::from(a.ports.unwrap_or(0)) * a.port_gbps.unwrap_or(0.0)
                + f64::from(a.uplink_ports.unwrap_or(0)) * a.uplink_gbps.unwrap_or(0.0)
        };
        if let Some(chosen) = book.switch_for(&[ports(count, gbps)], None) {
            let a = &book.parts[chosen].attributes;
            let own = if a.port_gbps.unwrap_or(0.0) >= gbps { a.ports.unwrap_or(0) } else { 0 };
            let up = if a.uplink_gbps.unwrap_or(0.0) >= gbps { a.uplink_ports.unwrap_or(0) } else { 0 };
            prop_assert!(own + up >= count);
            // A smaller one with enough ports of exactly this rate would have been taken.
            for (i, part) in book.parts_of(PartKind::Switch) {
                let b = &part.attributes;
                if b.port_gbps == Some(gbps) && b.ports.unwrap_or(0) >= count {
                    prop_assert!(line_rate(chosen) <= line_rate(i), "{} over {}", book.parts[chosen].sku, part.sku);
                }
            }
        }
    }

    /// Enough ports, and one card fewer would not be.
    #[test]
    fn cards_cover_the_ports_and_no_more(count in 1u32..20) {
        let book = book("paper-2009");
        let NicChoice { part, cards } = book.nic_for(ports(count, 1.0), None).expect("gigabit cards of any count");
        let each = book.parts[part].attributes.ports.expect("ports");
        prop_assert!(each * cards >= count && each * (cards - 1) < count);
    }
}

//! A fault as people write it: `KIND[:AMOUNT]=TARGET[@FROM[-UNTIL][~PERIOD]]`. Several amounts are
//! separated by commas, in the order of the kind's parameters.

use std::str::FromStr;

use super::entry::FaultParameter;
use super::kinds::{CATALOG, FaultKind, PERIOD};
use super::value::{Fault, Named, Selected, Target, Values};
use crate::amount::Unit;

impl FromStr for Fault {
    type Err = String;

    /// # Errors
    /// A sentence that begins with the text.
    fn from_str(text: &str) -> Result<Fault, String> {
        let text = text.trim();
        let form = || {
            format!(
                "{text} is not valid. Write KIND=TARGET@FROM-UNTIL, like cable-pulled=00/<0,0>@10-20. {}",
                Unit::Secs.hint()
            )
        };
        let (head, rest) = text.split_once('=').ok_or_else(form)?;
        let (name, amounts) = match head.split_once(':') {
            Some((name, amounts)) => (name, Some(amounts)),
            None => (head, None),
        };
        let kind = FaultKind::of_name(name).ok_or_else(|| {
            let known: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
            format!(
                "{text}: there is no kind of fault {name}; there are {}.",
                known.join(", ")
            )
        })?;
        let (target, times) = match rest.split_once('@') {
            Some((target, times)) => (target.trim(), Some(times)),
            None => (rest.trim(), None),
        };
        if target.is_empty() {
            return Err(form());
        }
        let mut values = values_of(kind, amounts, text)?;
        let (times, period) = match times.and_then(|times| times.split_once('~')) {
            Some((times, period)) => (Some(times), Some(period)),
            None => (times, None),
        };
        if let Some(period) = period {
            values.set(&PERIOD, Unit::Secs.read(period).ok_or_else(form)?);
        }
        let (at_secs, until_secs) = times.map_or(Some((0.0, None)), from_until).ok_or_else(form)?;
        Ok(Fault {
            at_secs,
            target: target_of(target),
            kind,
            values,
            until_secs,
        })
    }
}

/// Words with a space are a selector, others a name. `<` begins the name of a switch.
fn target_of(words: &str) -> Target {
    if words.contains(' ') {
        Target::Selector(Selected {
            selector: words.to_owned(),
        })
    } else {
        Target::Names(Named {
            names: vec![words.to_owned()],
        })
    }
}

/// `FROM` or `FROM-UNTIL`. A hyphen may be the sign of an exponent too.
fn from_until(times: &str) -> Option<(f64, Option<f64>)> {
    if let Some(at_secs) = Unit::Secs.read(times) {
        return Some((at_secs, None));
    }
    times.match_indices('-').find_map(|(at, _)| {
        let at_secs = Unit::Secs.read(&times[..at])?;
        Some((at_secs, Some(Unit::Secs.read(&times[at + 1..])?)))
    })
}

/// The parameters that the kind needs.
fn values_of(kind: FaultKind, amounts: Option<&str>, text: &str) -> Result<Values, String> {
    let (name, parameters) = (kind.name(), kind.entry().parameters);
    let amounts: Vec<&str> = amounts
        .map(|words| words.split(',').collect())
        .unwrap_or_default();
    if parameters.is_empty() && !amounts.is_empty() {
        return Err(format!(
            "{text}: {name} takes no amount. Leave :{} out.",
            amounts.join(",")
        ));
    }
    if amounts.len() != parameters.len() {
        let list = |of: fn(&FaultParameter) -> &'static str, separator: &str| {
            parameters.iter().map(of).collect::<Vec<_>>().join(separator)
        };
        return Err(format!(
            "{text}: {name} needs {}. Write it behind the kind, like {name}:{}=00/<0,0>.",
            list(|parameter| parameter.name, " and "),
            list(|parameter| parameter.unit.example(), ","),
        ));
    }
    let mut values = Values::default();
    for (parameter, words) in parameters.iter().zip(amounts) {
        let value = parameter.unit.read(words).ok_or_else(|| {
            format!(
                "{text}: {words} is not valid as {}. Write it like {}. {}",
                parameter.name,
                parameter.unit.example(),
                parameter.unit.hint()
            )
        })?;
        values.set(parameter, value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> serde_json::Value {
        json!(text.parse::<Fault>().expect("a fault"))
    }

    #[test]
    fn a_text_is_read_as_its_document() {
        let names = json!({"names": ["00/<0,0>"]});
        let cases = [
            (
                "cable-pulled=00/<0,0>@10-20",
                json!({"kind": "cable-pulled", "target": names, "at_secs": 10.0, "until_secs": 20.0}),
            ),
            (
                "server-killed=10% of servers@5",
                json!({"kind": "server-killed", "target": {"selector": "10% of servers"}, "at_secs": 5.0}),
            ),
            (
                "link-rate:10Mbit/s=00/<0,0>",
                json!({"kind": "link-rate", "target": names, "at_secs": 0.0, "rate_bits_per_sec": 1e7}),
            ),
            (
                "link-loss: 5 % = 00/<0,0> @ 1e-3 - 2.5 min",
                json!({"kind": "link-loss", "target": names, "at_secs": 0.001, "until_secs": 150.0, "loss_ratio": 0.05}),
            ),
            (
                "down=00/<0,0>@3-6~500ms",
                json!({"kind": "down", "target": names, "at_secs": 3.0, "until_secs": 6.0, "flap_secs": 0.5}),
            ),
        ];
        for (text, document) in cases {
            assert_eq!(read(text), document, "{text}");
        }
    }

    #[test]
    fn every_kind_can_be_written() {
        for entry in CATALOG {
            let amounts: Vec<&str> = entry
                .parameters
                .iter()
                .map(|parameter| parameter.unit.example())
                .collect();
            let colon = if amounts.is_empty() { "" } else { ":" };
            let text = format!("{}{colon}{}=x@1-2", entry.name, amounts.join(","));
            let fault: Fault = text.parse().expect("a fault");
            assert_eq!((fault.kind, fault.check("fault")), (entry.kind, vec![]), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_fault_is_refused_with_an_example() {
        let cases = [
            ("cable-pulled", "KIND=TARGET"),
            ("cable-pulled=", "KIND=TARGET"),
            ("cable-pulled=00/<0,0>@1.2.3", "KIND=TARGET"),
            ("cable-pulled=00/<0,0>@3-x", "KIND=TARGET"),
            ("cable-pulled=00/<0,0>@3~often", "KIND=TARGET"),
            ("cable-eaten=00/<0,0>", "there are down, cable-pulled"),
            ("link-rate=00/<0,0>", "link-rate:10M=00/<0,0>"),
            ("link-rate:100=00/<0,0>", "like 10M"),
            ("link-rate:10%=00/<0,0>", "10% is not valid as rate_bits_per_sec"),
            ("link-loss:many=00/<0,0>", "like 5%"),
            ("link-loss:5%,5%=00/<0,0>", "needs loss_ratio"),
            ("down:10M=00/<0,0>", "takes no amount"),
        ];
        for (text, says) in cases {
            let message = text.parse::<Fault>().expect_err(text);
            assert!(message.starts_with(text) && message.contains(says), "{message}");
        }
    }
}

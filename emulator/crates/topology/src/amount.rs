//! Rates, times and shares as people write them: a number with a unit. `cubeyard.reading.units`
//! reads them by the same rules; both are tested with `tests/rates.json`.

use serde::Serialize;

/// The unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// A data rate in bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSec,
    /// A time in seconds.
    #[serde(rename = "s")]
    Secs,
    /// A part of a whole, 0 to 1.
    #[serde(rename = "")]
    Share,
}

/// Seconds of each unit of time, as a whole number and a power of ten.
const TIMES: [(&[&str], Factor); 6] = [
    (&["s", "sec", "second"], (1, 0)),
    (&["ms", "msec", "millisecond", "millis"], (1, -3)),
    (
        &["us", "\u{3bc}s", "\u{b5}s", "usec", "microsecond", "micros"],
        (1, -6),
    ),
    (&["ns", "nsec", "nanosecond", "nanos"], (1, -9)),
    (&["min", "minute"], (60, 0)),
    (&["h", "hour"], (3600, 0)),
];

/// A whole number and a power of ten: their product is the factor.
type Factor = (u64, i32);

impl Unit {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Unit::BitsPerSec => "bit/s",
            Unit::Secs => "s",
            Unit::Share => "",
        }
    }

    /// An amount as an example.
    pub fn example(self) -> &'static str {
        match self {
            Unit::BitsPerSec => "10M",
            Unit::Secs => "20ms",
            Unit::Share => "5%",
        }
    }

    /// How to write an amount, as a sentence.
    pub fn hint(self) -> &'static str {
        match self {
            Unit::BitsPerSec => {
                "Give bits per second with a unit: b/s, kb/s, Mb/s, Gb/s or Tb/s, or k, M, G or T alone."
            }
            Unit::Secs => "Give seconds, or a unit: ns, us, ms, s, min or h.",
            Unit::Share => "Give a share from 0 to 1, or per cent with %.",
        }
    }

    /// The amount that a text states: `10M`, `20ms`, `5%`. A bare number is in the base unit, but a
    /// rate other than 0 needs its unit: few people mean 100 b/s by 100. `[ours]`
    pub fn read(self, text: &str) -> Option<f64> {
        let text = text.trim();
        let (number, unit) = text.split_at(number_length(text)?);
        let unit = unit.trim();
        if unit.is_empty() {
            let value: f64 = number.parse().ok()?;
            return (self != Unit::BitsPerSec || value == 0.0).then_some(value);
        }
        scaled(number, self.factor(unit)?)
    }

    fn factor(self, unit: &str) -> Option<Factor> {
        match self {
            Unit::BitsPerSec => rate_factor(unit),
            Unit::Secs => time_factor(unit),
            Unit::Share => (unit == "%").then_some((1, -2)),
        }
    }
}

/// Bytes of the number at the start of a text: digits, at most one point, and an exponent.
fn number_length(text: &str) -> Option<usize> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(0);
    let mut end = whole;
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if end <= 1 && whole == 0 {
        return None;
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if (1..=3).contains(&exponent) {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// The number times the factor, rounded once: 57 % is 0.57, not 0.5700000000000001.
fn scaled(number: &str, (times, power): Factor) -> Option<f64> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Option<u128> = format!("{whole}{part}").parse().ok();
    let value = match digits.and_then(|digits| digits.checked_mul(u128::from(times))) {
        Some(digits) => format!("{digits}e{}", exponent + power - part.len() as i32),
        None => return Some(number.parse::<f64>().ok()? * times as f64 * 10f64.powi(power)),
    };
    value.parse().ok()
}

fn time_factor(unit: &str) -> Option<Factor> {
    let lower = unit.to_lowercase();
    let known = |name: &str| TIMES.iter().find(|(names, _)| names.contains(&name));
    known(&lower)
        .or_else(|| known(lower.strip_suffix('s')?))
        .map(|&(_, factor)| factor)
}

fn rate_factor(unit: &str) -> Option<Factor> {
    rate_bits(unit).map(|bits| (bits as u64, 0))
}

/// Bits per second of a rate's unit: `M`, `Mbps`, `Mib/s`. `None` for bytes and for other units.
pub fn rate_bits(unit: &str) -> Option<f64> {
    const PREFIXES: [(&str, f64); 8] = [
        ("ki", 1024.0),
        ("mi", 1048576.0),
        ("gi", 1073741824.0),
        ("ti", 1099511627776.0),
        ("k", 1e3),
        ("m", 1e6),
        ("g", 1e9),
        ("t", 1e12),
    ];
    const WORDS: [(&str, &str); 8] = [
        ("kilo", "k"),
        ("mega", "m"),
        ("giga", "g"),
        ("tera", "t"),
        ("kibi", "ki"),
        ("mebi", "mi"),
        ("gibi", "gi"),
        ("tebi", "ti"),
    ];
    let mut lower = unit.to_ascii_lowercase();
    let per = ["/second", "/sec", "/s", "ps"]
        .into_iter()
        .find(|per| lower.ends_with(per));
    lower.truncate(lower.len() - per.map_or(0, str::len));
    let base = ["bits", "bit"].into_iter().find(|base| lower.ends_with(base));
    let bare = base.is_none() && unit[..lower.len()].ends_with('b');
    lower.truncate(lower.len() - base.map_or(usize::from(bare), str::len));
    let prefix = WORDS
        .into_iter()
        .find(|(word, _)| *word == lower)
        .map_or(lower.as_str(), |(_, prefix)| prefix);
    if prefix.is_empty() {
        return Some(1.0);
    }
    PREFIXES
        .into_iter()
        .find(|(name, _)| *name == prefix)
        .map(|(_, of)| of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_a_unit_and_bytes_are_none() {
        let rates: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(include_str!("../tests/rates.json")).expect("JSON");
        for (unit, bits) in rates.iter().filter(|(unit, _)| !unit.is_empty()) {
            let read = Unit::BitsPerSec.read(&format!("12.5 {unit}"));
            assert_eq!(read, bits.as_f64().map(|bits| 12.5 * bits), "{unit}");
        }
        assert_eq!(Unit::BitsPerSec.read("100"), None);
        assert_eq!(Unit::BitsPerSec.read("0"), Some(0.0));
    }

    #[test]
    fn amounts_are_rounded_once() {
        for (text, value) in [
            ("57%", 0.57),
            ("7%", 0.07),
            (" 29 % ", 0.29),
            (".5%", 0.005),
            ("1e1%", 0.1),
        ] {
            assert_eq!(Unit::Share.read(text), Some(value), "{text}");
        }
        for (text, value) in [
            ("0.3ms", 0.0003),
            ("1.5h", 5400.0),
            ("2 seconds", 2.0),
            ("12.5", 12.5),
        ] {
            assert_eq!(Unit::Secs.read(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "many", "-1", "1.2.3%", "1e5000", "5 m", "5%%", "\u{bd}"] {
            for unit in [Unit::BitsPerSec, Unit::Secs, Unit::Share] {
                let rate = unit == Unit::BitsPerSec && text == "5 m";
                assert_eq!(unit.read(text).is_some(), rate, "{text} in {unit:?}");
            }
        }
    }
}

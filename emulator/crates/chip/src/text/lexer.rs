//! Words, numbers and signs of a program's text.

use std::net::Ipv4Addr;

use super::At;
use crate::flaw::Flaw;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    Number(u64),
    Address(Ipv4Addr),
    Text(String),
    Sign(&'static str),
    End,
}

impl Token {
    /// As errors show it.
    pub fn shown(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Address(address) => format!("`{address}`"),
            Token::Text(text) => {
                let head: String = text.chars().take(24).collect();
                format!("\"{head}\"")
            }
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the program".to_owned(),
        }
    }
}

/// Longer operators come first, so that they win.
const SIGNS: [&str; 21] = [
    "++", "<=", ">=", "!=", "==", "(", ")", "{", "}", "[", "]", ",", ";", ":", "=", "<", ">", "+", "-", "*",
    "&",
];

struct Text<'a> {
    rest: &'a str,
    at: At,
}

impl<'a> Text<'a> {
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            self.at = if character == '\n' {
                (self.at.0 + 1, 1)
            } else {
                (self.at.0, self.at.1 + 1)
            };
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|character| !wanted(character))
            .unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn skip_blanks(&mut self) -> Result<(), Flaw> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|character| character != '\n');
            } else if self.rest.starts_with("/*") {
                let begun = self.at;
                let Some(end) = self.rest.find("*/") else {
                    let flaw = Flaw::new(
                        "comment-open",
                        "program",
                        "a comment without end",
                        "closed",
                        "Write */ where it ends.",
                    );
                    return Err(flaw.at(begun));
                };
                self.advance(end + 2);
            } else {
                return Ok(());
            }
        }
    }
}

/// The tokens, the end last.
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, At)>, Flaw> {
    let mut text = Text {
        rest: text,
        at: (1, 1),
    };
    let mut tokens = Vec::new();
    loop {
        text.skip_blanks()?;
        let at = text.at;
        let Some(first) = text.rest.chars().next() else {
            tokens.push((Token::End, at));
            return Ok(tokens);
        };
        let token = if first.is_ascii_digit() {
            number(text.take_while(|c| c.is_ascii_alphanumeric() || c == '.')).map_err(|flaw| flaw.at(at))?
        } else if first.is_alphabetic() || first == '_' {
            Token::Word(text.take_while(|c| c.is_alphanumeric() || c == '_').to_owned())
        } else if matches!(first, '"' | '“' | '”') {
            quoted(&mut text, at)?
        } else if first == '.' {
            text.advance(1);
            Token::Sign(".")
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| text.rest.starts_with(sign)) {
            text.advance(sign.len());
            Token::Sign(sign)
        } else {
            let flaw = Flaw::new(
                "character",
                "program",
                format!("{first:?}"),
                "a sign of the language",
                "Remove it.",
            );
            return Err(flaw.at(at));
        };
        tokens.push((token, at));
    }
}

fn number(word: &str) -> Result<Token, Flaw> {
    if word.contains('.') {
        let fix = "Write for example 10.0.0.1.";
        let wrong = |_| Flaw::new("address", "program", format!("`{word}`"), "an IPv4 address", fix);
        return word.parse().map(Token::Address).map_err(wrong);
    }
    let read = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    let fix = "Write digits, hexadecimal ones behind 0x; put bytes like a MAC in quotes.";
    read.map(Token::Number).map_err(|_| {
        Flaw::new(
            "number",
            "program",
            format!("`{word}`"),
            "a number below 2^64",
            fix,
        )
    })
}

fn quoted(text: &mut Text<'_>, at: At) -> Result<Token, Flaw> {
    let closing = |c: char| matches!(c, '"' | '“' | '”');
    let quote = text.rest.chars().next().map_or(1, char::len_utf8);
    text.advance(quote);
    let inside = text.take_while(|c| !closing(c) && c != '\n').to_owned();
    let Some(end) = text.rest.chars().next().filter(|&c| closing(c)) else {
        let flaw = Flaw::new(
            "text-open",
            "program",
            "a text without end",
            "closed on its line",
            "Write \" where it ends.",
        );
        return Err(flaw.at(at));
    };
    text.advance(end.len_utf8());
    Ok(Token::Text(inside))
}

//! The grammar: from tokens to statements.

use std::net::Ipv4Addr;

use super::At;
use super::lexer::Token;
use crate::flaw::Flaw;

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Number(u64),
    Address(Ipv4Addr),
    Text(String),
    Null,
    /// A variable, or a word like `TCAM`.
    Name(String),
    /// `j++`: its value, then one more.
    Increment(String),
    /// `oport[nha]`, or a byte of an array.
    Index(String, Box<Located>),
    Binary(&'static str, Box<(Located, Located)>),
    List(Vec<Located>),
    /// Fields of a key: `INPORT` and `B22-25`.
    Fields(Vec<(String, At)>),
    /// An action like `{act=…, vif=…}`.
    Action(Vec<(String, At, Located)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub expr: Expr,
    pub at: At,
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Variable(String),
    /// `val[4]`, or `val[1:4]` with both ends included.
    Bytes(String, Located, Option<Located>),
    /// A member like `action.vif`.
    Member(String, String),
}

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Call(String, At, Vec<Located>),
    Assign(Target, At, Located),
    Increment(String, At),
    For(Box<Statement>, Located, Box<Statement>, Vec<Statement>, At),
    Foreach(String, Vec<Located>, Vec<Statement>, At),
    /// The statements if the condition holds, and if not.
    If(Located, Vec<Statement>, Vec<Statement>, At),
}

/// Blocks and brackets inside each other.
const MAX_DEPTH: usize = 32;

struct Parser<'a> {
    tokens: &'a [(Token, At)],
    next: usize,
    depth: usize,
}

/// The statements of a program.
pub(crate) fn statements(tokens: &[(Token, At)]) -> Result<Vec<Statement>, Flaw> {
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
    };
    let mut statements = Vec::new();
    while !matches!(parser.peek(), Token::End) {
        statements.extend(parser.statement()?);
    }
    Ok(statements)
}

type Parsed<T> = Result<T, Flaw>;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)].0
    }

    fn at(&self) -> At {
        self.tokens[self.next.min(self.tokens.len() - 1)].1
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn has(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(there) if *there == sign);
        self.next += usize::from(found);
        found
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let fix = format!("Write {wanted} here.");
        let found = self.peek().shown();
        let flaw = Flaw::new("syntax", "program", &found, wanted, fix);
        Err(flaw
            .saying(format!("{found} stands where {wanted} must be."))
            .at(self.at()))
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.has(sign) {
            Ok(())
        } else {
            self.unexpected(&format!("`{sign}`"))
        }
    }

    fn word(&mut self, wanted: &str) -> Parsed<String> {
        match self.peek() {
            Token::Word(word) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            _ => self.unexpected(wanted),
        }
    }

    /// Counts how deep brackets stand inside each other, so that no text can exhaust the stack.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let limit = format!("at most {MAX_DEPTH}");
            let flaw = Flaw::new(
                "syntax-depth",
                "program",
                format!("depth {}", self.depth),
                limit,
                "Use fewer brackets inside each other.",
            );
            return Err(flaw.at(self.at()));
        }
        let parsed = inside(self);
        self.depth -= 1;
        parsed
    }

    /// A statement; none for a lone semicolon.
    fn statement(&mut self) -> Parsed<Option<Statement>> {
        if self.has(";") {
            return Ok(None);
        }
        let at = self.at();
        let name = self.word("a statement")?;
        let statement = match (name.as_str(), self.peek()) {
            ("for", _) => self.deeper(|parser| parser.for_loop(at))?,
            ("foreach", _) => self.deeper(|parser| parser.foreach(at))?,
            ("if", _) => self.deeper(|parser| parser.choice(at))?,
            (_, Token::Sign("(")) => {
                self.next += 1;
                Statement::Call(name, at, self.list(")")?)
            }
            _ => self.simple(name, at)?,
        };
        self.has(";");
        Ok(Some(statement))
    }

    /// An assignment or an increment.
    fn simple(&mut self, name: String, at: At) -> Parsed<Statement> {
        if self.has("++") {
            return Ok(Statement::Increment(name, at));
        }
        let target = if self.has("[") {
            let first = self.expression()?;
            let last = if self.has(":") {
                Some(self.expression()?)
            } else {
                None
            };
            self.expect("]")?;
            Target::Bytes(name, first, last)
        } else if self.has(".") {
            Target::Member(name, self.word("a field of the action")?)
        } else {
            Target::Variable(name)
        };
        if !self.has("=") {
            return self.unexpected("`=` or `(`");
        }
        Ok(Statement::Assign(target, at, self.expression()?))
    }

    fn for_loop(&mut self, at: At) -> Parsed<Statement> {
        self.expect("(")?;
        let (from, name) = (self.at(), self.word("the loop's variable")?);
        let first = self.simple(name, from)?;
        self.expect(";")?;
        let condition = self.comparison()?;
        self.expect(";")?;
        let (from, name) = (self.at(), self.word("the loop's variable")?);
        let step = self.simple(name, from)?;
        self.expect(")")?;
        Ok(Statement::For(
            Box::new(first),
            condition,
            Box::new(step),
            self.block()?,
            at,
        ))
    }

    fn foreach(&mut self, at: At) -> Parsed<Statement> {
        let name = self.word("the loop's variable")?;
        if self.word("`in`")? != "in" {
            self.next -= 1;
            return self.unexpected("`in`");
        }
        let items = if self.has("(") {
            self.list(")")?
        } else {
            vec![self.expression()?]
        };
        Ok(Statement::Foreach(name, items, self.block()?, at))
    }

    fn choice(&mut self, at: At) -> Parsed<Statement> {
        self.expect("(")?;
        let condition = self.comparison()?;
        self.expect(")")?;
        let then = self.block()?;
        let is_else = matches!(self.peek(), Token::Word(word) if word == "else");
        let otherwise = if is_else {
            self.next += 1;
            self.block()?
        } else {
            Vec::new()
        };
        Ok(Statement::If(condition, then, otherwise, at))
    }

    fn block(&mut self) -> Parsed<Vec<Statement>> {
        self.expect("{")?;
        let mut statements = Vec::new();
        while !self.has("}") {
            if matches!(self.peek(), Token::End) {
                return self.unexpected("`}`");
            }
            statements.extend(self.statement()?);
        }
        Ok(statements)
    }

    /// Expressions with commas between them, up to a closing sign.
    fn list(&mut self, closing: &str) -> Parsed<Vec<Located>> {
        let mut items = Vec::new();
        if self.has(closing) {
            return Ok(items);
        }
        loop {
            items.push(self.expression()?);
            if self.has(closing) {
                return Ok(items);
            }
            if !self.has(",") {
                return self.unexpected(&format!("`,` or `{closing}`"));
            }
        }
    }

    fn comparison(&mut self) -> Parsed<Located> {
        let at = self.at();
        let left = self.expression()?;
        for sign in ["<=", ">=", "!=", "==", "<", ">"] {
            if self.has(sign) {
                let right = self.expression()?;
                return Ok(Located {
                    expr: Expr::Binary(sign, Box::new((left, right))),
                    at,
                });
            }
        }
        self.unexpected("a comparison like `<`")
    }

    fn expression(&mut self) -> Parsed<Located> {
        self.deeper(|parser| parser.binary(&["+", "-"]))
    }

    fn binary(&mut self, signs: &[&'static str]) -> Parsed<Located> {
        let at = self.at();
        let product = signs[0] == "*";
        let mut left = if product {
            self.operand()?
        } else {
            self.binary(&["*"])?
        };
        while let Some(sign) = signs.iter().find(|sign| self.has(sign)) {
            let right = if product {
                self.operand()?
            } else {
                self.binary(&["*"])?
            };
            left = Located {
                expr: Expr::Binary(sign, Box::new((left, right))),
                at,
            };
        }
        Ok(left)
    }

    fn operand(&mut self) -> Parsed<Located> {
        let at = self.at();
        let expr = match self.take() {
            Token::Number(number) => Expr::Number(number),
            Token::Address(address) => Expr::Address(address),
            Token::Text(text) => Expr::Text(text),
            Token::Word(word) if word == "NULL" => Expr::Null,
            Token::Word(word) if self.has("++") => Expr::Increment(word),
            Token::Word(word) if self.has("[") => {
                let index = self.expression()?;
                self.expect("]")?;
                Expr::Index(word, Box::new(index))
            }
            Token::Word(word) => Expr::Name(word),
            Token::Sign("&") => Expr::Name(self.word("the name of an action")?),
            Token::Sign("(") if self.begins_fields() => self.fields()?,
            Token::Sign("(") => {
                let mut items = self.list(")")?;
                match items.len() {
                    1 => return Ok(items.remove(0)),
                    _ => Expr::List(items),
                }
            }
            Token::Sign("{") => self.action()?,
            _ => {
                self.next -= 1;
                return self.unexpected("a value");
            }
        };
        Ok(Located { expr, at })
    }

    fn begins_fields(&self) -> bool {
        let Token::Word(word) = self.peek() else {
            return false;
        };
        let byte = word
            .strip_prefix('B')
            .is_some_and(|digits| digits.bytes().all(|c| c.is_ascii_digit()));
        word == "INPORT" || byte
    }

    fn fields(&mut self) -> Parsed<Expr> {
        let mut fields = Vec::new();
        loop {
            let at = self.at();
            let mut text = self.word("a field like `B22-25` or `INPORT`")?;
            if self.has("-") {
                let Token::Number(last) = *self.peek() else {
                    return self.unexpected("the last byte, like 25 in `B22-25`");
                };
                self.next += 1;
                text = format!("{text}-{last}");
            }
            fields.push((text, at));
            if self.has(")") {
                return Ok(Expr::Fields(fields));
            }
            if !self.has(",") {
                return self.unexpected("`,` or `)`");
            }
        }
    }

    fn action(&mut self) -> Parsed<Expr> {
        let mut fields = Vec::new();
        loop {
            let at = self.at();
            let name = self.word("a field like `act`")?;
            self.expect("=")?;
            fields.push((name, at, self.expression()?));
            if self.has("}") {
                return Ok(Expr::Action(fields));
            }
            if !self.has(",") {
                return self.unexpected("`,` or `}`");
            }
        }
    }
}

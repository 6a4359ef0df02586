//! Host names: the name of a node that every tool takes.
//!
//! The papers' names (`0132`, `<3,001>`, `[2,0]`, `(0,1,2)`) are numbers to a spreadsheet, markup
//! to an XML reader and illegal in DNS. A host name has the same numbers with hyphens between them
//! behind a letter: `h0132` for a server, `s3-001` for a switch. It is a DNS label (RFC 1123):
//! lower-case letters, digits and hyphens, at most 63 characters, never a number.
//!
//! Where users name the nodes themselves, their names are the host names.
//!
//! Not here: names as the papers write them (`family/`).

use crate::graph::NodeId;
use crate::topology::Topology;

/// Longest DNS label (RFC 1035 §2.3.4).
pub const HOST_NAME_MAX_CHARACTERS: usize = 63;

/// The spellings that a family may use for a server with these numbers.
const SERVER_FORMS: [(&str, &str, &str); 3] = [("", ".", ""), ("[", ",", "]"), ("(", ",", ")")];

impl Topology {
    /// Appends the host name of a node, e.g. `h0132` or `s3-001`. Takes time in proportion to the
    /// name's length.
    pub fn write_host_name(&self, node: NodeId, out: &mut String) {
        let mut name = String::new();
        self.write_name(node, &mut name);
        if self.family().names_are_host_names() {
            out.push_str(&name);
            return;
        }
        out.push(if self.is_server(node) { 'h' } else { 's' });
        let start = out.len();
        for group in name
            .split(|letter: char| !letter.is_ascii_digit())
            .filter(|group| !group.is_empty())
        {
            if out.len() > start {
                out.push('-');
            }
            out.push_str(group);
        }
        if out.len() == start {
            // The only switch of a DCell_0 has no number: its name is `<>`.
            out.push('0');
        }
    }

    /// The host name of a node.
    pub fn host_name(&self, node: NodeId) -> String {
        let mut name = String::new();
        self.write_host_name(node, &mut name);
        name
    }

    /// The node with this host name; the inverse of [`Topology::host_name`].
    pub(crate) fn node_by_host_name(&self, name: &str) -> Option<NodeId> {
        let mut candidates = Vec::new();
        if let Some(numbers) = name.strip_prefix('h') {
            let groups: Vec<&str> = numbers.split('-').collect();
            candidates.extend(
                SERVER_FORMS.map(|(open, between, close)| format!("{open}{}{close}", groups.join(between))),
            );
        } else {
            let groups: Vec<&str> = name.strip_prefix('s')?.split('-').collect();
            let (level, label) = groups.split_first()?;
            candidates.push(format!("<{level},{}>", label.join(".")));
            candidates.push(format!("<{}>", groups.join(",")));
            candidates.push("<>".to_owned());
        }
        let found = candidates
            .iter()
            .find_map(|candidate| self.family().node_by_name(candidate));
        found.filter(|&node| node < self.node_count() && self.host_name(node) == name)
    }
}

//! Dominance: the vectors that can be best. Vectors have signs such that less is better in every
//! entry.

/// Whether `a` is at least as good as `b` in every entry.
pub fn covers(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b)
}

/// Members of a front with the number of each, in the order in which they were entered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    members: Vec<(usize, Vec<f64>)>,
}

impl Front {
    /// Whether a member is at least as good in every component, so that entering the vector would
    /// add nothing.
    pub fn covers(&self, vector: &[f64]) -> bool {
        self.members.iter().any(|(_, member)| covers(member, vector))
    }

    /// Enters a vector unless a member covers it; returns the numbers of the members that it
    /// replaces because it covers them. If vectors are equal, the first stays.
    pub fn enter(&mut self, number: usize, vector: Vec<f64>) -> Option<Vec<usize>> {
        if self.covers(&vector) {
            return None;
        }
        let mut replaced = Vec::new();
        self.members.retain(|(other, member)| {
            let stays = !covers(&vector, member);
            if !stays {
                replaced.push(*other);
            }
            stays
        });
        self.members.push((number, vector));
        Some(replaced)
    }

    /// The numbers of the members.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|(number, _)| *number)
    }

    /// Number of members of the front.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nothing was entered.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

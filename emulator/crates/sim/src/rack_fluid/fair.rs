//! Max-min fairness among flows that come in streams.

/// Flows that share one path.
pub(super) trait Stream {
    /// Number of flows, which need not be whole.
    fn flows(&self) -> f64;
    /// Links crossed, each once.
    fn links(&self) -> &[usize];
}

/// The rate of each stream when all its flows get their max-min fair rate, by progressive filling.
/// In the unit of `capacity`. Every stream crosses a link.
pub(super) fn fair_rates<S: Stream>(streams: &[S], capacity: &[f64]) -> Vec<f64> {
    let mut rates = vec![0.0; streams.len()];
    let mut left = capacity.to_vec();
    let mut rising = vec![0.0; capacity.len()];
    let mut on_link: Vec<Vec<u32>> = vec![Vec::new(); capacity.len()];
    for (index, stream) in streams.iter().enumerate() {
        for &link in stream.links() {
            rising[link] += stream.flows();
            on_link[link].push(index as u32);
        }
    }
    let mut open: Vec<usize> = on_link.iter().map(Vec::len).collect();
    let mut done = vec![false; streams.len()];
    loop {
        let fullest = (0..capacity.len())
            .filter(|&link| open[link] > 0)
            .map(|link| (link, (left[link] / rising[link]).max(0.0)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((link, rate)) = fullest else {
            return rates;
        };
        for &index in &on_link[link] {
            let index = index as usize;
            if !std::mem::replace(&mut done[index], true) {
                let stream = &streams[index];
                rates[index] = rate * stream.flows();
                for &crossed in stream.links() {
                    left[crossed] -= rates[index];
                    rising[crossed] -= stream.flows();
                    open[crossed] -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Stream for (f64, Vec<usize>) {
        fn flows(&self) -> f64 {
            self.0
        }
        fn links(&self) -> &[usize] {
            &self.1
        }
    }

    #[test]
    fn flows_get_equal_shares_of_what_binds_them() {
        // Link 0 (6) carries three flows, of which one also crosses link 1 (1).
        let rates = fair_rates(&[(2.0, vec![0]), (1.0, vec![0, 1])], &[6.0, 1.0]);
        assert_eq!(rates, [5.0, 1.0]);
        let rates = fair_rates(&[(2.0, vec![0]), (1.0, vec![0, 1])], &[6.0, 9.0]);
        assert_eq!(rates, [4.0, 2.0]);
    }
}

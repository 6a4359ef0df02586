//! How busy the host's processors are.
//!
//! The kernel counts time in use by looking once in 4 ms who is at it, which is too rough for small differences; the
//! time that a processor was idle it measures. So what was not idle was in use. `[measured]`

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// The kernel counts processor time in hundredths of a second.
pub const TICKS_A_SEC: f64 = 100.0;
/// Bytes of the table's first line.
const LINE_BYTES: usize = 256;

/// All processors together.
#[derive(Debug)]
pub struct Processors {
    table: Option<File>,
    count: usize,
    idle_ticks: u64,
    at: Instant,
}

impl Processors {
    /// Counts from now on.
    pub fn start() -> Processors {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("cpu"));
        Processors {
            table: File::open("/proc/stat").ok(),
            // The first line is that of all together.
            count: lines.count().saturating_sub(1).max(1),
            idle_ticks: idle_ticks(&text),
            at: Instant::now(),
        }
    }

    /// Share of them in use since the last call, 0 to 1; 0 where the kernel does not say.
    pub fn busy(&mut self) -> f64 {
        let mut buffer = [0; LINE_BYTES];
        let Some(length) = self
            .table
            .as_ref()
            .and_then(|file| file.read_at(&mut buffer, 0).ok())
        else {
            return 0.0;
        };
        let now = Instant::now();
        let idle_ticks = idle_ticks(&String::from_utf8_lossy(&buffer[..length]));
        let idle_secs = idle_ticks.saturating_sub(self.idle_ticks) as f64 / TICKS_A_SEC;
        let all_secs = (now - self.at).as_secs_f64() * self.count as f64;
        (self.idle_ticks, self.at) = (idle_ticks, now);
        if all_secs > 0.0 {
            (1.0 - idle_secs / all_secs).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// The fourth and fifth number of the first line are idle, and idle while waiting for a disk.
fn idle_ticks(text: &str) -> u64 {
    let line = text.lines().next().unwrap_or_default();
    let fields = line.split_whitespace().skip(4).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle_too() {
        assert_eq!(
            idle_ticks("cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"),
            405
        );
        assert_eq!(idle_ticks(""), 0);
    }

    #[test]
    fn work_is_seen() {
        let mut processors = Processors::start();
        let began = Instant::now();
        while began.elapsed().as_millis() < 300 {
            std::hint::black_box(began);
        }
        let busy = processors.busy();
        // One of them at least was busy all the time.
        assert!(
            busy >= 0.9 / processors.count as f64 && busy <= 1.0,
            "{busy} of {}",
            processors.count
        );
    }
}

//! Utilisation of the host's processors, and a run's share of it.
//!
//! The kernel only samples busy time, every 4 ms, which is too coarse for small differences. It
//! measures idle time exactly. Busy time is therefore computed as total time minus idle time.
//! `[measured]`

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use crate::host::namespace::{Namespace, NamespaceId};

/// The kernel counts processor time in hundredths of a second.
pub const TICKS_PER_SEC: f64 = 100.0;
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
    /// Starts counting at this moment.
    pub fn start() -> Processors {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("cpu"));
        Processors {
            table: File::open("/proc/stat").ok(),
            // The first line is the sum of all processors, so it does not count.
            count: lines.count().saturating_sub(1).max(1),
            idle_ticks: idle_ticks(&text),
            at: Instant::now(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Utilisation since the last call, 0 to 1; 0 if it cannot be read.
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
        let idle_secs = idle_ticks.saturating_sub(self.idle_ticks) as f64 / TICKS_PER_SEC;
        let all_secs = (now - self.at).as_secs_f64() * self.count as f64;
        (self.idle_ticks, self.at) = (idle_ticks, now);
        if all_secs > 0.0 {
            (1.0 - idle_secs / all_secs).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// Processor time that a run uses: of this process, of processes in the run's namespaces, and of
/// the kernel's networking.
///
/// The kernel charges networking, which runs in software interrupts, to the process that they
/// interrupt. Therefore all time in interrupts counts as the run's, including that of other runs
/// and programs. A process that ends between two calls is missed.
#[derive(Debug, Default)]
pub struct OwnTime {
    known: BTreeMap<u32, Known>,
    interrupt_ticks: u64,
    at: Option<Instant>,
    /// Waits of the run's processes between the last two calls.
    pub waits: Waits,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    ticks: u64,
    waits: Waits,
    is_ours: bool,
}

/// Time that runnable processes waited for a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The sum of all waits.
    pub nanos: u64,
    /// Number of times that a process got a processor.
    pub count: u64,
}

impl OwnTime {
    /// Share of all `count` processors since the last call, 0 to 1; 0 at the first call. `is_ours`
    /// returns whether a network namespace belongs to the run.
    pub fn busy(&mut self, count: usize, is_ours: impl Fn(NamespaceId) -> bool) -> f64 {
        let now = Instant::now();
        let interrupt_ticks = interrupt_ticks(&fs::read_to_string("/proc/stat").unwrap_or_default());
        let mut used_ticks = interrupt_ticks.saturating_sub(self.interrupt_ticks);
        let mut processes = BTreeMap::new();
        let mut waits = Waits::default();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let known = self.known.get(&pid);
            let is_ours = known.map_or_else(
                || pid == std::process::id() || network_of(pid).is_some_and(&is_ours),
                |known| known.is_ours,
            );
            let (mut ticks, mut now_waits) = (0, Waits::default());
            if is_ours {
                ticks = processor_ticks(pid).unwrap_or(0);
                now_waits = waits_of(pid).unwrap_or_default();
            }
            used_ticks += ticks.saturating_sub(known.map_or(0, |known| known.ticks));
            let before = known.map_or(now_waits, |known| known.waits);
            waits.nanos += now_waits.nanos.saturating_sub(before.nanos);
            waits.count += now_waits.count.saturating_sub(before.count);
            let waits = now_waits;
            processes.insert(
                pid,
                Known {
                    ticks,
                    waits,
                    is_ours,
                },
            );
        }
        let elapsed_secs = self.at.map_or(0.0, |at| (now - at).as_secs_f64());
        (self.known, self.interrupt_ticks, self.at, self.waits) =
            (processes, interrupt_ticks, Some(now), waits);
        if elapsed_secs > 0.0 {
            (used_ticks as f64 / TICKS_PER_SEC / elapsed_secs / count as f64).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// Processor time of a process with its threads, in hundredths of a second; `None` if the process
/// has ended.
pub fn processor_ticks(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name, which may hold anything; the last parenthesis ends
    // it.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// The waits of a process's first thread; `None` if it has ended. The kernel lists nanoseconds on a
/// processor, nanoseconds of waiting, and the number of turns.
fn waits_of(pid: u32) -> Option<Waits> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let mut fields = text
        .split_whitespace()
        .skip(1)
        .map_while(|field| field.parse().ok());
    Some(Waits {
        nanos: fields.next()?,
        count: fields.next()?,
    })
}

/// Packets that the kernel has dropped since the host started, because a processor was behind with
/// its work: the second number of each processor's line, in hexadecimal digits.
pub fn backlog_drops() -> u64 {
    dropped(&fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default())
}

fn dropped(text: &str) -> u64 {
    let second = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    second
        .filter_map(|field| u64::from_str_radix(field, 16).ok())
        .sum()
}

fn network_of(pid: u32) -> Option<NamespaceId> {
    Namespace::of_process(pid).ok()?.id().ok()
}

/// The sixth and seventh number of the first line are interrupts of the hardware and the software.
fn interrupt_ticks(text: &str) -> u64 {
    let line = text.lines().next().unwrap_or_default();
    let fields = line.split_whitespace().skip(6).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
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
    fn packets_lost_in_the_backlog_are_those_of_all_processors() {
        assert_eq!(
            dropped("0000ab12 0000001f 00000003 0\n00000001 00000002 00000000 0\n"),
            33
        );
        assert_eq!(dropped(""), 0);
        assert!(waits_of(std::process::id()).is_some_and(|waits| waits.count > 0));
    }

    #[test]
    fn interrupts_and_processes_of_the_run_are_its_own() {
        let stat = "cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!((interrupt_ticks(stat), interrupt_ticks("")), (13, 0));
        let here = network_of(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let (mut own, mut other) = (OwnTime::default(), OwnTime::default());
        assert_eq!(own.busy(1, |namespace| namespace == here), 0.0);
        assert_eq!(other.busy(1, |_| false), 0.0);
        assert!(own.known[&child.id()].is_ours && !other.known[&child.id()].is_ours);
        assert!(other.known[&std::process::id()].is_ours);
        let began = Instant::now();
        while processor_ticks(child.id()).unwrap_or_default() < 20 && began.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(own.busy(1, |namespace| namespace == here) > 0.0);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn work_is_seen() {
        let mut processors = Processors::start();
        let began = Instant::now();
        while began.elapsed().as_millis() < 300 {
            std::hint::black_box(began);
        }
        let busy = processors.busy();
        // At least one of the processors was busy all the time.
        assert!(
            busy >= 0.9 / processors.count as f64 && busy <= 1.0,
            "{busy} of {}",
            processors.count
        );
    }
}

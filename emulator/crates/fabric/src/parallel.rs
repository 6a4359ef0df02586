//! Runs work on many items in parallel threads, which end afterwards.

use std::sync::Mutex;

use crate::error::Result;

/// With more threads, most would wait for the kernel's lock on network configuration.
const MOST_WORKERS: usize = 8;

/// Does `work` for each item on a few threads. Returns the results in the items' order, or the
/// first error.
///
/// The threads are new and end afterwards, so `work` may move them into other namespaces.
pub fn for_each<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let processors = std::thread::available_parallelism().map_or(2, |count| count.get());
    let workers = processors.clamp(2, MOST_WORKERS).min(items.len());
    let results: Vec<Mutex<Option<Result<R>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let waiting = Mutex::new(items.into_iter().enumerate());
    let next = || waiting.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, item)) = next() {
                    let result = work(item);
                    if let Ok(mut slot) = results[at].lock() {
                        *slot = Some(result);
                    }
                }
            });
        }
    });
    // A panic of a worker has ended the scope with a panic, so every slot is filled here.
    results
        .into_iter()
        .filter_map(|slot| slot.into_inner().ok().flatten())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FabricError;

    #[test]
    fn results_come_in_the_items_order() {
        let squares = for_each((0..100).collect(), |number: u64| Ok(number * number)).unwrap();
        assert_eq!(
            squares,
            (0..100).map(|number| number * number).collect::<Vec<u64>>()
        );
    }

    #[test]
    fn the_first_error_in_the_items_order_is_given() {
        let odd_is_wrong = |number: u64| match number % 2 {
            0 => Ok(number),
            _ => Err(FabricError::malformed(number.to_string())),
        };
        assert_eq!(
            for_each((4..20).collect(), odd_is_wrong).unwrap_err().message,
            "5"
        );
    }
}

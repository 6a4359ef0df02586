/**
 * The counters of a service on one server, those of lost packets first, each loss with its reason.
 */
import type { InspectionSection } from "./inspection-sections";

/**
 * The meaning of each loss. A loss concerns the service alone: no other service or flow loses a
 * packet by it.
 */
const REASONS: Record<string, string> = {
  "lost-trapped": "Calls that ended by a trap, like an access outside its memory.",
  "lost-out-of-fuel": "Calls that used all their fuel, as an endless loop does.",
  "lost-over-budget": "Calls left out: the second’s fuel was used up.",
  "lost-while-stopped": "The instance had failed too often and was stopped for a while.",
  "lost-failed": "Calls at which the service’s process raised an error.",
  "lost-late": "Calls that its process did not answer in time, as one that loops or waits.",
  "lost-process-gone": "Calls that its process had when it ended or was stopped.",
  "lost-process-busy": "Too many calls waited for its process.",
  "lost-wrong-answer": "What its process answered was no answer.",
  "lost-too-many-sent": "More packets than one call may send.",
  "answers-over-limit": "More answers than a second allows.",
  "packets-without-room": "Its queues were full: it sends more than its share of the links.",
  "packets-expired": "They waited in a queue for longer than it allows.",
  "packets-looping": "They came back too often on their way to a key.",
};

export interface Counter {
  name: string;
  count: number;
  /** Why packets, calls or answers were lost; absent for counters that are not losses. */
  reason?: string;
}

export function countersOf(section: InspectionSection, service: string): Counter[] {
  const at = (name: string) => section.columns.findIndex((column) => column.name === name);
  const [of, counter, count] = [at("service"), at("counter"), at("count")];
  const all = section.rows
    .filter((row) => row[of] === service)
    .map((row): Counter => {
      const name = String(row[counter]);
      const reason = REASONS[name];
      return { name: name.replaceAll("-", " "), count: Number(row[count]), ...(reason && { reason }) };
    });
  const lost = ({ reason, count }: Counter) => reason !== undefined && count > 0;
  return [...all.filter(lost), ...all.filter((item) => !lost(item))];
}

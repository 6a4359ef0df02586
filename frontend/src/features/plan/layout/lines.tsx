import { Skeleton } from "@/ui/marks";
import styles from "./lines.module.css";

/** Placeholders for lines of text that are loading. */
export function Lines({ count }: { count: number }) {
  return (
    <div className={styles.lines}>
      {Array.from({ length: count }, (_, at) => (
        <Skeleton key={at} height={16} width={at % 3 === 2 ? "60%" : "100%"} />
      ))}
    </div>
  );
}

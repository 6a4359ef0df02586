import styles from "./drop-cover.module.css";

/** Over the whole window while files are dragged over it. */
export function DropCover({ text }: { text: string }) {
  return (
    <div className={styles.drop}>
      <p>{text}</p>
    </div>
  );
}

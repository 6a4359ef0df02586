import { textOf } from "@/ui/file-text";
import styles from "./program.module.css";

/** Takes a program's text from a file. */
export function ProgramFile({ onProgram }: { onProgram: (program: string) => void }) {
  return (
    <label className={styles.file}>
      Load a program file
      <input
        type="file"
        accept=".chip,.txt,.json,text/plain,application/json"
        onChange={({ target }) => target.files?.[0] && void textOf(target.files[0]).then(onProgram)}
      />
    </label>
  );
}

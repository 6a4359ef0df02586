import { create } from "zustand";
import { IconButton } from "./button";
import { Icon } from "./icon";
import styles from "./toast.module.css";

interface Toast {
  id: number;
  text: string;
  kind: "info" | "error";
}

const useToasts = create<{ toasts: Toast[] }>(() => ({ toasts: [] }));
let nextId = 1;

/** Shows `text` for a few seconds, politely for screen readers; errors stay until closed. */
export function toast(text: string, kind: Toast["kind"] = "info"): void {
  const id = nextId++;
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.slice(-2), { id, text, kind }] }));
  if (kind === "info") setTimeout(() => closeToast(id), 4000);
}

function closeToast(id: number) {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((t) => t.id !== id) }));
}

export function Toaster() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div className={styles.stack} role="status" aria-live="polite">
      {toasts.map((t) => (
        <div key={t.id} className={styles.toast} data-kind={t.kind}>
          <Icon name={t.kind === "error" ? "error" : "check"} />
          <span>{t.text}</span>
          <IconButton small icon="close" label="Dismiss" onClick={() => closeToast(t.id)} />
        </div>
      ))}
    </div>
  );
}

import { useMemo } from "react";
import styles from "./crew.module.css";
import { qrOf } from "./qr";

const QUIET = 4;

/**
 * `text` as a QR code, dark on white in every theme, as scanners want it. Nothing for a text that
 * is too long.
 */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = useMemo(() => qrOf(text), [text]);
  if (!code) return null;
  const { size, modules } = code;
  let path = "";
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) if (modules[y * size + x]) path += `M${x + QUIET} ${y + QUIET}h1v1h-1z`;
  return (
    <svg
      className={styles.qr}
      viewBox={`0 0 ${size + 2 * QUIET} ${size + 2 * QUIET}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
      data-label={text}
    >
      <rect width="100%" height="100%" fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}

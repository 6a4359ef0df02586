import { useEffect } from "react";

/** The title of the browser's tab while the caller is on screen. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · Cubeyard`;
  }, [name]);
}

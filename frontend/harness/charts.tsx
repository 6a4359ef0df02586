import type { ThemeName } from "../src/units";

export function Charts(_props: { theme: ThemeName }) {
  return null;
}

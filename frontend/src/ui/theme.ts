import { flushSync } from "react-dom";
import { create } from "zustand";

export type ThemeChoice = "light" | "dark" | "system";
export type ThemeName = "light" | "dark";

const KEY = "cubeyard.theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

function resolve(choice: ThemeChoice): ThemeName {
  if (choice !== "system") return choice;
  return prefersDark.matches ? "dark" : "light";
}

function apply(choice: ThemeChoice): ThemeName {
  const name = resolve(choice);
  document.documentElement.dataset.theme = name;
  return name;
}

/**
 * The theme that the user chose, and the resulting theme now. public/theme.js sets the same before
 * the first paint.
 */
export const useTheme = create<{
  choice: ThemeChoice;
  name: ThemeName;
  choose: (choice: ThemeChoice) => void;
}>((set) => ({
  choice: stored(),
  name: apply(stored()),
  choose: (choice) => {
    try {
      if (choice === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, choice);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    set({ choice, name: apply(choice) });
  },
}));

prefersDark.addEventListener("change", () => {
  const { choice } = useTheme.getState();
  if (choice === "system") useTheme.setState({ name: apply(choice) });
});

// Paper is white: canvases are painted light before printing and as before afterwards.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  flushSync(() => useTheme.setState({ name: "light" }));
});
window.addEventListener("afterprint", () => useTheme.setState({ name: apply(useTheme.getState().choice) }));

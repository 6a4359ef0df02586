/** The available commands of the page: one list for the palette, the shortcuts and their help. */
import { useEffect } from "react";
import { create } from "zustand";
import type { IconName } from "@/ui/icon";

export interface Command {
  id: string;
  title: string;
  group: string;
  hint?: string;
  icon?: IconName;
  /** `mod+z`: mod is Ctrl, or Cmd on a Mac. */
  keys?: string;
  /** Shown in the help but handled elsewhere (inside a table, for example). */
  local?: boolean;
  run: () => void;
}

/** Finds things by name, for texts no fixed command matches. */
export type CommandSearch = (query: string) => Command[];

interface Registry {
  sources: ReadonlyMap<string, { commands: readonly Command[]; search?: CommandSearch }>;
  palette: boolean;
  help: boolean;
}

export const useRegistry = create<Registry>(() => ({ sources: new Map(), palette: false, help: false }));

/**
 * Offers commands as long as the caller is on screen. `commands` and `search` should be memoised.
 */
export function useCommands(source: string, commands: readonly Command[], search?: CommandSearch): void {
  useEffect(() => {
    useRegistry.setState(({ sources }) => ({ sources: new Map(sources).set(source, { commands, search }) }));
    return () =>
      useRegistry.setState(({ sources }) => {
        const rest = new Map(sources);
        rest.delete(source);
        return { sources: rest };
      });
  }, [source, commands, search]);
}

export function allCommands(): Command[] {
  return [...useRegistry.getState().sources.values()].flatMap((source) => source.commands);
}

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

/**
 * `mod+shift+z` of a key event. Printable keys that need Shift (like ?) are named by what they
 * print.
 */
export function chordOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const parts: string[] = [];
  if (isMac ? event.metaKey : event.ctrlKey) parts.push("mod");
  if (event.altKey) parts.push("alt");
  if (event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key))) parts.push("shift");
  return [...parts, key].join("+");
}

/** How a chord is printed: ⌘Z on a Mac, Ctrl Z elsewhere. */
export function chordKeys(keys: string): string[] {
  return keys.split("+").map((part) => {
    if (part === "mod") return isMac ? "⌘" : "Ctrl";
    if (part === "shift") return isMac ? "⇧" : "Shift";
    if (part === "alt") return isMac ? "⌥" : "Alt";
    return part.length === 1 ? part.toUpperCase() : part;
  });
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** One listener for all chords. Plain letters never fire while someone types; Ctrl-Z in a text field stays the field's
 *  unless the field is a plan parameter, whose edits are the plan's own history. */
export function installShortcuts(): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.isComposing) return;
    const chord = chordOf(event);
    const inText = typing(event.target);
    const planField =
      event.target instanceof HTMLElement && event.target.closest("[data-plan-fields]") !== null;
    if (inText && !chord.startsWith("mod+")) return;
    if (inText && !planField && /^mod\+(shift\+)?z$|^mod\+y$/.test(chord)) return;
    const { palette, help } = useRegistry.getState();
    if ((palette || help) && chord !== "mod+k") return;
    const command = allCommands().find((c) => !c.local && c.keys?.split(" ").includes(chord));
    if (!command) return;
    event.preventDefault();
    command.run();
  };
  window.addEventListener("keydown", onKeyDown);
  return () => window.removeEventListener("keydown", onKeyDown);
}

/**
 * How well `text` answers `query`: every word must occur; beginnings of words count more, earlier
 * counts more. Null for no match.
 */
export function matchScore(text: string, query: string): number | null {
  const hay = text.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = hay.indexOf(word);
    if (at < 0) return null;
    const startsWord = at === 0 || !/[a-z0-9]/.test(hay[at - 1] ?? "");
    score += (startsWord ? 100 : 20) - Math.min(at, 19);
  }
  return score;
}

/** The most results that a search shows. */
const RESULTS_AT_MOST = 60;

/** The results of a search: items by name first, then commands, the best match first. */
export function commandsFor(
  sources: readonly { commands: readonly Command[]; search?: CommandSearch }[],
  query: string,
): Command[] {
  const scored: { command: Command; score: number; order: number }[] = [];
  for (const command of sources.flatMap((source) => source.commands)) {
    if (command.local || command.id === "palette") continue;
    const score = matchScore(`${command.title} ${command.group}`, query);
    if (score !== null) scored.push({ command, score, order: scored.length });
  }
  scored.sort((a, b) => b.score - a.score || a.order - b.order);
  const things = query.trim() === "" ? [] : sources.flatMap((source) => source.search?.(query.trim()) ?? []);
  return [...things, ...scored.map((s) => s.command)].slice(0, RESULTS_AT_MOST);
}

/**
 * Finds messages of the server whose field is not visible on the page, and scrolls to a visible
 * one.
 */
import { type RefObject, useEffect, useState } from "react";
import type { Messages } from "./messages";

/** Parts of the form come a moment after it. */
const LATE_MS = 600;

/** The messages that no field of the form shows, by their paths. */
export function useUnshown(messages: Messages, fields: RefObject<HTMLElement | null>): Messages {
  const [unshown, setUnshown] = useState<Messages>(new Map());
  useEffect(() => {
    const look = () => {
      const text = fields.current?.textContent ?? "";
      const next = new Map([...messages].filter(([, message]) => !text.includes(message)));
      setUnshown((before) => ([...before.keys()].join() === [...next.keys()].join() ? before : next));
    };
    if (messages.size === 0) return look();
    const timer = setTimeout(look, LATE_MS);
    return () => clearTimeout(timer);
  }, [messages, fields]);
  return unshown;
}

/**
 * Opens, shows and focuses the field below which one of the messages, or any other objection,
 * stands.
 */
export function leadToField(fields: HTMLElement, messages: Messages): void {
  const walker = document.createTreeWalker(fields, NodeFilter.SHOW_TEXT);
  const texts = [...messages.values()];
  const stands = (node: Node) => texts.some((message) => node.parentElement?.textContent?.includes(message));
  let place: Element | null = fields.querySelector("[aria-invalid='true']");
  while (!place && walker.nextNode())
    if (stands(walker.currentNode)) place = walker.currentNode.parentElement;
  place ??= fields.querySelector("[aria-describedby$='-message']");
  if (!place) return;
  for (let at: Element | null = place; at && at !== fields; at = at.parentElement)
    if (at instanceof HTMLDetailsElement) at.open = true;
  place.scrollIntoView({ block: "center" });
  controlNear(place, fields)?.focus();
}

const CONTROLS = "input:not([type=hidden]), select, textarea, button";

function controlNear(place: Element, fields: HTMLElement): HTMLElement | null {
  if (place.matches(CONTROLS)) return place as HTMLElement;
  for (let at = place.parentElement; at && at !== fields; at = at.parentElement) {
    const control = at.querySelector<HTMLElement>(CONTROLS);
    if (control) return control;
  }
  return null;
}

/**
 * The screen of a terminal: xterm.js between the keyboard and a WebSocket. Loaded when a terminal
 * is opened.
 */
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import { openSocket } from "@/api/socket";
import styles from "./terminal.module.css";
import {
  afterClose,
  afterMessage,
  CONNECTING,
  inputMessages,
  resizeMessage,
  type TerminalStatus,
} from "./terminal-talk";

/** The page's own colours, as they are now. */
function themeNow(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: color("--bg"),
    foreground: color("--text"),
    cursor: color("--accent"),
    cursorAccent: color("--bg"),
    selectionBackground: color("--accent-soft"),
    selectionForeground: color("--text"),
  };
}

/**
 * The keys that leave the terminal for the controls next to it: every other key goes to the shell.
 */
const leaves = (event: KeyboardEvent): boolean =>
  (event.key === "Escape" && event.ctrlKey && event.shiftKey) || (event.key === "Tab" && event.shiftKey);

export default function TerminalScreen({
  path,
  label,
  onStatus,
  onLeave,
}: {
  path: string;
  label: string;
  onStatus: (status: TerminalStatus) => void;
  onLeave: () => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const tell = useRef({ onStatus, onLeave });
  tell.current = { onStatus, onLeave };
  useEffect(() => {
    const terminal = new Terminal({
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim() || "monospace",
      fontSize: 12,
      minimumContrastRatio: 4.5,
      screenReaderMode: true,
      scrollback: 2000,
      theme: themeNow(),
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(place.current!);
    terminal.textarea?.setAttribute("aria-label", label);
    fit.fit();
    let status = CONNECTING;
    const become = (next: TerminalStatus) => {
      status = next;
      tell.current.onStatus(next);
    };
    become(CONNECTING);
    const socket = openSocket(`${path}?columns=${terminal.cols}&rows=${terminal.rows}`);
    const send = (message: string) => socket.readyState === WebSocket.OPEN && socket.send(message);
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") {
        become(afterMessage(status, data));
        if (status.state === "open") terminal.focus();
      } else terminal.write(new Uint8Array(data as ArrayBuffer));
    };
    socket.onclose = () => {
      become(afterClose(status));
      terminal.options.disableStdin = true;
      terminal.options.cursorBlink = false;
    };
    terminal.onData((data) => inputMessages(data).forEach(send));
    terminal.onResize(({ cols, rows }) => send(resizeMessage(cols, rows)));
    terminal.attachCustomKeyEventHandler((event) => {
      if (!leaves(event)) return true;
      if (event.type === "keydown") {
        event.preventDefault();
        tell.current.onLeave();
      }
      return false;
    });
    // A hidden terminal keeps its size: the shell would wrap what it prints at nothing.
    const sized = new ResizeObserver(() => place.current?.offsetParent && fit.fit());
    sized.observe(place.current!);
    const themed = new MutationObserver(() => {
      terminal.options.theme = themeNow();
    });
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      sized.disconnect();
      themed.disconnect();
      socket.onclose = null;
      socket.onmessage = null;
      socket.close();
      terminal.dispose();
    };
  }, [path, label]);
  return <div ref={place} className={styles.screen} data-testid="terminal" />;
}

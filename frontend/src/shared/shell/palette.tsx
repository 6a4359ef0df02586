import { useId, useMemo, useRef, useState } from "react";
import { Icon } from "@/ui/icon";
import { Kbd } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { type Command, chordKeys, commandsFor, useRegistry } from "./commands";
import styles from "./palette.module.css";

/** Ctrl/Cmd-K: every command of the page and everything in the plan, by name. */
export default function Palette() {
  const sources = useRegistry((state) => state.sources);
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => useRegistry.setState({ palette: false });

  const matches = useMemo(() => commandsFor([...sources.values()], query), [sources, query]);
  const at = Math.min(active, matches.length - 1);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(matches.length - 1, to));
    setActive(next);
    list.current?.querySelectorAll("[role=option]")[next]?.scrollIntoView({ block: "nearest" });
  };
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    // After the dialog has given its focus back, so that a command may move it.
    setTimeout(() => command.run(), 0);
  };

  return (
    <ModalDialog title="Search or run a command" isOpen onClose={close} width={600} bare>
      <div className={styles.palette}>
        <label className={styles.field}>
          <Icon name="search" />
          <span className="visually-hidden">Search or run a command</span>
          <input
            // biome-ignore lint/a11y/noAutofocus: a dialog that only asks for text
            autoFocus
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-list`}
            aria-activedescendant={matches.length > 0 ? `${id}-${at}` : undefined}
            aria-autocomplete="list"
            autoComplete="off"
            spellCheck={false}
            placeholder="A command, a rack, a server, a cable…"
            value={query}
            onChange={(event) => {
              setQuery(event.target.value);
              setActive(0);
            }}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown") move(at + 1);
              else if (event.key === "ArrowUp") move(at - 1);
              else if (event.key === "Enter") run(matches[at]);
              else return;
              event.preventDefault();
            }}
          />
        </label>
        <div
          ref={list}
          id={`${id}-list`}
          className={styles.list}
          role="listbox"
          aria-label="Commands"
          tabIndex={-1}
        >
          {matches.map((command, index) => (
            <Option
              key={command.id}
              id={`${id}-${index}`}
              command={command}
              active={index === at}
              onActive={() => setActive(index)}
              onRun={() => run(command)}
            />
          ))}
        </div>
        {matches.length === 0 && <p className={styles.none}>No results for “{query}”</p>}
      </div>
    </ModalDialog>
  );
}

function Option({
  id,
  command,
  active,
  onActive,
  onRun,
}: {
  id: string;
  command: Command;
  active: boolean;
  onActive: () => void;
  onRun: () => void;
}) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={active}
      className={styles.option}
      onMouseMove={onActive}
      onClick={onRun}
    >
      <Icon name={command.icon ?? "right"} />
      <span className={styles.title}>{command.title}</span>
      {command.hint && <span className={styles.hint}>{command.hint}</span>}
      <span className={styles.group}>{command.group}</span>
      {command.keys && (
        <span>
          {chordKeys(command.keys.split(" ")[0]!).map((key) => (
            <Kbd key={key}>{key}</Kbd>
          ))}
        </span>
      )}
    </div>
  );
}

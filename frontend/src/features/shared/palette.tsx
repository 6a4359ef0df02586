import { useId, useMemo, useRef, useState } from "react";
import { Icon } from "@/ui/icon";
import { Kbd } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { type Command, chordKeys, matchScore, useRegistry } from "./commands";
import styles from "./palette.module.css";

const SHOWN = 60;

/** Ctrl/Cmd-K: every command of the page and everything in the plan, by name. */
export default function Palette() {
  const sources = useRegistry((state) => state.sources);
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => useRegistry.setState({ palette: false });

  const found = useMemo(() => {
    const all = [...sources.values()];
    const scored: { command: Command; score: number; order: number }[] = [];
    for (const command of all.flatMap((source) => source.commands)) {
      if (command.local || command.id === "palette") continue;
      const score = matchScore(`${command.title} ${command.group}`, query);
      if (score !== null) scored.push({ command, score, order: scored.length });
    }
    scored.sort((a, b) => b.score - a.score || a.order - b.order);
    const things = query.trim() === "" ? [] : all.flatMap((source) => source.search?.(query.trim()) ?? []);
    return [...things, ...scored.map((s) => s.command)].slice(0, SHOWN);
  }, [sources, query]);

  const at = Math.min(active, found.length - 1);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(found.length - 1, to));
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
            aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
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
              else if (event.key === "Enter") run(found[at]);
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
          {found.map((command, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
            <div
              key={command.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              className={styles.option}
              onMouseMove={() => setActive(index)}
              onClick={() => run(command)}
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
          ))}
        </div>
        {found.length === 0 && <p className={styles.none}>Nothing is called “{query}” here.</p>}
      </div>
    </ModalDialog>
  );
}

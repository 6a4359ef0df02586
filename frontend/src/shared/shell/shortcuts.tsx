import { Kbd } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { type Command, chordKeys, useRegistry } from "./commands";
import { documentsOf, documentUrl } from "./documents";
import { GLOSSARY } from "./glossary";
import styles from "./shortcuts.module.css";

const TABLES: Command[] = [
  ["Move in a table", "↑ ↓"],
  ["Select the row", "Enter"],
  ["Copy the row", "mod+c"],
].map(([title, keys]) => ({
  id: title!,
  title: title!,
  group: "Tables",
  keys: keys!,
  local: true,
  run: () => {},
}));

/** `?`: the documents, every shortcut that works now, and what the page's terms mean. */
export default function Shortcuts() {
  const sources = useRegistry((state) => state.sources);
  const groups = new Map<string, Command[]>();
  for (const command of [...[...sources.values()].flatMap((source) => source.commands), ...TABLES]) {
    if (!command.keys) continue;
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return (
    <ModalDialog
      title="Documents, keyboard shortcuts and terms"
      isOpen
      onClose={() => useRegistry.setState({ help: false })}
      width={680}
    >
      <nav aria-label="Documentation" className={styles.documents}>
        {documentsOf(window.location.pathname).map((document) => (
          <a key={document.page} href={documentUrl(document)} target="_blank" rel="noreferrer">
            {document.title}
          </a>
        ))}
      </nav>
      <div className={styles.columns}>
        {[...groups].map(([group, commands]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {commands.map((command) => (
                <div key={command.id} className={styles.row}>
                  <dt>{command.title}</dt>
                  <dd>
                    {command.keys!.split(" ").map((chord) => (
                      <span key={chord}>
                        {chordKeys(chord).map((key) => (
                          <Kbd key={key}>{key}</Kbd>
                        ))}
                      </span>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <section aria-label="Terms">
        <h3 className={styles.terms}>Terms</h3>
        <dl className={styles.glossary}>
          {GLOSSARY.map(({ term, meaning }) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </section>
    </ModalDialog>
  );
}

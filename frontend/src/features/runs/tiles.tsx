import styles from "./runs.module.css";

/** A number of a result with its name; the note is shown small next to the value. */
export interface Tile {
  name: string;
  value: string;
  note?: string;
}

/** The numbers of a result that come first. */
export function Tiles({ tiles }: { tiles: readonly Tile[] }) {
  return (
    <dl className={styles.tiles}>
      {tiles.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note && <span className="muted plain">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

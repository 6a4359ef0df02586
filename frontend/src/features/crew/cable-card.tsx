import type { PlanModel } from "@/scene/model";
import { breakoutText } from "@/shared/plans/names";
import { Swatch } from "@/ui/marks";
import { formatMillimetres, levelShortLabel } from "@/units";
import styles from "./crew.module.css";
import { type CableEnd, cableEnds, trayText } from "./order";
import { QrCode } from "./qr-code";

/**
 * The data that a crew needs to pull one cable: both ends with their labels, the trays, the length.
 */
export function CableCard({ model, cable, rack }: { model: PlanModel; cable: number; rack: number }) {
  const { cables, cablesDocument } = model;
  const [here, there] = cableEnds(model, cable, rack);
  const trays = trayText(model, cable, rack);
  const level = cables.level[cable]!;
  const breakout = breakoutText(model, cable);
  const colour = cablesDocument?.colours[cablesDocument.columns.colour[cable]!];
  return (
    <>
      <End title="This end" end={here} />
      <End title={here.rack === there.rack ? "Other end, same rack" : "Other end"} end={there} />
      <dl className={styles.facts}>
        <div>
          <dt>Level</dt>
          <dd>
            <Swatch colour={`var(--level-${level})`} /> {levelShortLabel(level)}
          </dd>
        </div>
        {breakout && (
          <div>
            <dt>Breakout</dt>
            <dd>{breakout}</dd>
          </div>
        )}
        <div>
          <dt>Order length</dt>
          <dd>
            {formatMillimetres(cables.stockMm[cable])}
            {colour && `, ${colour}`}
          </dd>
        </div>
        <div>
          <dt>Routed length</dt>
          <dd>{formatMillimetres(cables.lengthMm[cable])}</dd>
        </div>
        <div className={styles.wide}>
          <dt>{trays.length > 0 ? "Trays, from this rack" : "Route"}</dt>
          <dd>
            {trays.length > 0 ? trays.join(", then ") : (cablesDocument?.routes[cables.route[cable]!] ?? "–")}
          </dd>
        </div>
      </dl>
    </>
  );
}

function End({ title, end }: { title: string; end: CableEnd }) {
  return (
    <section className={styles.end} aria-label={title}>
      <div>
        <h3>{title}</h3>
        <p className={styles.where}>
          {end.rack} <span>{end.unit || "no unit"}</span> <span>{end.port}</span>
        </p>
        <p className={styles.device}>Device {end.device}</p>
        <code className={styles.label}>{end.label}</code>
      </div>
      <QrCode text={end.label} label={`QR code of the label ${end.label}`} />
    </section>
  );
}

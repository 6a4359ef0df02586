import type { Book } from "@/api/types";
import { getIn } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { usePlan } from "../state/store";
import { BreakoutRules } from "./breakout-rules";
import styles from "./cabling-section.module.css";
import { ChoiceField, NumberOptions, type SpecProps } from "./option-fields";

/** The cables to order, and the price book. */
export function CablingSection({ books, pin, ...props }: SpecProps & { books: Book[]; pin: number | null }) {
  const { spec, resolved } = props;
  const takeLatestPrices = usePlan((state) => state.takeLatestPrices);
  const bookName = getIn(spec, "catalog") ?? (resolved && getIn(resolved, "catalog"));
  const book = books.find((b) => b.book === bookName);
  return (
    <Section title="Cables and prices">
      <NumberOptions
        options={[
          { path: "cabling.slack_metres", label: "Slack", unit: "m", step: 0.1, min: 0, max: 20 },
          {
            path: "cabling.tray_fill_limit",
            label: "Tray fill limit",
            unit: "%",
            step: 5,
            min: 5,
            max: 100,
            percent: true,
          },
          {
            path: "cabling.trays_side_by_side",
            label: "Trays side by side, at most",
            integer: true,
            step: 1,
            min: 1,
            max: 8,
            none: "1",
          },
          {
            path: "cabling.spare_ratio",
            label: "Spares",
            unit: "%",
            step: 1,
            min: 0,
            max: 100,
            percent: true,
          },
          {
            path: "cabling.link_gbps",
            label: "Link rate",
            unit: "Gb",
            step: 1,
            min: 0.1,
            none: "own",
            title: "Overrides the topology's rates when cables are chosen",
          },
        ]}
        {...props}
      />
      <ChoiceField
        option={{
          path: "cabling.media",
          label: "Medium",
          choices: [
            ["auto", "By rate and reach"],
            ["cat6", "Cat 6"],
            ["dac", "DAC"],
            ["aoc", "AOC"],
            ["fibre", "Fibre"],
          ],
        }}
        {...props}
      />
      <ChoiceField
        option={{
          path: "cabling.stock",
          label: "Lengths",
          choices: [
            ["stock", "Ready-made"],
            ["bulk", "Cut from bulk"],
          ],
        }}
        {...props}
      />
      <BreakoutRules {...props} />
      {books.length > 0 && (
        <ChoiceField
          option={{
            path: "catalog",
            label: "Price book",
            choices: books.map((b): [string, string] => [b.book, b.title]),
          }}
          {...props}
        />
      )}
      {pin !== null && book && book.latest_version > pin && (
        <p className={styles.pinned}>
          Keeps the prices of version {pin}; version {book.latest_version} is out.{" "}
          <Button look="link" onClick={takeLatestPrices}>
            Use version {book.latest_version}
          </Button>
        </p>
      )}
    </Section>
  );
}

import { useId } from "react";
import type { CompareResponse } from "@/api/types";
import { NumberInput } from "@/ui/form";
import styles from "./compare-page.module.css";

const MOST = 999_999_999;

/** The currencies of the compared plans other than the base's, each once. */
export const otherCurrencies = (plans: CompareResponse["plans"], base: number): string[] => [
  ...new Set(plans.map(({ currency }) => currency).filter((item) => item !== plans[base]?.currency)),
];

/**
 * `["EUR=1.08"]` with another worth of EUR; without one, or with one below a millionth, amounts in
 * it are not compared.
 */
export const withRate = (rates: string[], currency: string, worth: number | null): string[] => [
  ...rates.filter((rate) => !rate.startsWith(`${currency}=`)),
  ...(worth !== null && worth >= 1e-6 ? [`${currency}=${Number(worth.toFixed(9))}`] : []),
];

/**
 * Exchange rates of the other plans' currencies to the base's; empty if all plans use one currency.
 */
export function Rates({
  plans,
  base,
  rates,
  onRates,
}: {
  plans: CompareResponse["plans"];
  base: number;
  rates: string[];
  onRates: (rates: string[]) => void;
}) {
  const id = useId();
  const others = otherCurrencies(plans, base);
  if (others.length === 0) return null;
  const worth = (currency: string) => {
    const match = rates.find((rate) => rate.startsWith(`${currency}=`));
    return match ? Number(match.slice(4)) : null;
  };
  return (
    <div className={styles.rates}>
      {others.map((currency) => (
        <span key={currency} className={styles.rate}>
          <label htmlFor={`${id}-${currency}`}>1 {currency} =</label>
          <NumberInput
            id={`${id}-${currency}`}
            value={worth(currency)}
            min={0}
            max={MOST}
            step={0.01}
            unit={plans[base]!.currency}
            optional
            onChange={(value) => onRates(withRate(rates, currency, value))}
          />
        </span>
      ))}
      <p>Amounts in another currency than the base’s are compared only at a rate that you give.</p>
    </div>
  );
}

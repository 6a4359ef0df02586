/** The same experiment predicted, simulated and measured, on one chart. */
import { Link } from "@tanstack/react-router";
import { LineChart } from "@/charts";
import { ProblemView } from "@/shared/server/problem";
import { Skeleton } from "@/ui/marks";
import { useTheme } from "@/ui/theme";
import { formatGbps, formatPercent } from "@/units";
import { Block } from "../block";
import styles from "../block.module.css";
import type { RunViewProps } from "../run-frame";
import { flowSeries, goodputSeries, latencySeries, METHOD_WORDS, METHODS } from "./methods";
import { useMethods } from "./use-methods";

export default function MethodsPanel({ run, experiment }: RunViewProps) {
  const theme = useTheme((state) => state.name);
  const { data, error } = useMethods(run, experiment!);
  if (error) return <ProblemView error={error} />;
  if (!data) return <Skeleton height={240} />;
  const { runs, answers } = data;
  const missing = METHODS.filter((method) => runs.every((run) => run.method !== method));
  const provenance = runs
    .map(({ method, run: { id, engine_version } }) =>
      `${METHOD_WORDS[method]}: run ${id} ${engine_version}`.trim(),
    )
    .join(" · ");
  const common = { theme, provenance, height: 240 };
  const flows = flowSeries(answers);
  const latencies = latencySeries(answers);
  const { fidelity } = answers.emulation ?? {};
  return (
    <Block
      label="Prediction, simulation and emulation"
      aside="the latest complete run of each, on the same plan"
    >
      {runs.length > 1 && (
        <div className={styles.multiples}>
          <LineChart
            {...common}
            title="Total goodput by method"
            series={goodputSeries(answers)}
            xLabel="time, s"
            yLabel="goodput"
            yFormat={formatGbps}
          />
          {flows.length > 0 && (
            <LineChart
              {...common}
              title="Goodput per flow by method"
              series={flows}
              xLabel="goodput of a flow"
              xFormat={formatGbps}
              yLabel="flows with at most this goodput"
              yFormat={(value) => formatPercent(value, 0)}
              yDomain={[0, 1]}
            />
          )}
          {latencies.length > 0 && (
            <LineChart
              {...common}
              title="Latency of requests by method"
              series={latencies}
              xLabel="latency, s"
              yLabel="requests answered"
              yFormat={(value) => formatPercent(value, 0)}
              yDomain={[0, 1]}
            />
          )}
        </div>
      )}
      <ul className={styles.note}>
        {runs.map(({ method, run: { id, title } }) => (
          <li key={method}>
            {`${METHOD_WORDS[method]}: `}
            {id === run.id ? (
              "this run"
            ) : (
              <Link to="/runs/$id" params={{ id }}>
                {title}
              </Link>
            )}
            {method === "flow" && ". Max-min fair rates; headers count as goodput."}
            {method === "packet" && ". First point. Flows end, and the rate falls with them."}
            {method === "emulation" && fidelity && `. ${fidelity.reason}`}
          </li>
        ))}
        {missing.map((method) => (
          <li key={method}>
            {`${METHOD_WORDS[method]}: no complete run of this experiment. `}
            <Link to="/experiments" search={{ from: experiment!.id }}>
              Set one up
            </Link>
          </li>
        ))}
      </ul>
    </Block>
  );
}

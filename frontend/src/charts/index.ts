export {
  BarChart,
  type BarChartProps,
  type BarItem,
  Bars,
} from "./bars";
export { ChartFrame, type ChartFrameProps } from "./chart-frame";
export { toCsv } from "./csv";
export { LineChart } from "./line-chart";
export { Scatter, type ScatterPoint } from "./scatter";
export { SmallMultiples, type SmallMultiplesProps } from "./small-multiples";
export type { ChartColumn, ChartCommon, LineChartProps, LineSeries, Point } from "./types";
export { useWidth } from "./use-width";

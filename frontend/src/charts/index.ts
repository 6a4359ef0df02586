export {
  BarChart,
  type BarChartProps,
  type BarItem,
  Bars,
  SmallBars,
  SmallMultiples,
  type SmallMultiplesProps,
} from "./bars";
export { ChartFrame, type ChartFrameProps } from "./chart-frame";
export { toCsv } from "./csv";
export { LineChart, type LineChartProps, type LineSeries } from "./line-chart";
export type { ChartColumn, ChartCommon, Point } from "./types";

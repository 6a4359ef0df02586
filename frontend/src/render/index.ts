export { Elevations, type ElevationsProps, elevationRacks } from "./elevations";
export { PlanCanvas, type PlanCanvasHandle, type PlanCanvasProps, type ViewInfo } from "./plan-canvas";
export { PlanLegend, type PlanLegendProps } from "./plan-legend";
export { paletteOf } from "./resolve";
export { type SvgOptions, toSvg } from "./svg-painter";
export { fitTransform } from "./transform";

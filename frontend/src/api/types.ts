/** Short names for the generated schemas. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Summary = Schemas["Summary"];
export type Scene = Schemas["Scene"];
export type Cables = Schemas["Cables"];
export type Bom = Schemas["Bom"];
export type BomLine = Schemas["BomLine"];
export type Finding = Schemas["Finding"];
export type FieldError = Schemas["FieldError"];
export type Problem = Schemas["Problem"];
export type Plan = Schemas["Plan"];
export type PlanListItem = Schemas["PlanListItem"];
export type RevisionItem = Schemas["RevisionItem"];
export type PreviewResponse = Schemas["PreviewResponse"];
export type CompareResponse = Schemas["CompareResponse"];
export type CompareRow = Schemas["CompareRow"];
export type Book = Schemas["Book"];
export type BookVersion = Schemas["BookVersion"];
export type PriceImport = Schemas["PriceImport"];
export type Part = Schemas["Part"];
export type ExportFormat = Schemas["Format"];
export type DeviceTrace = Schemas["DeviceTrace"];
export type WorkOrder = Schemas["WorkOrder"];
export type Run = Schemas["Run"];
export type Figure = Schemas["Figure"];
export type FigureSummary = Schemas["FigureSummary"];
export type PaperCount = Schemas["PaperCount"];
export type FigureResult = Schemas["FigureResult"];
export type RunList = Schemas["RunList"];
export type PointFrame = Schemas["PointFrame"];
export type Experiment = Schemas["Experiment"];
export type Fault = Schemas["Fault"];
export type Mark = Schemas["Mark"];
export type WorkProgress = Schemas["WorkProgress"];
export type Token = Schemas["Token"];
export type NewToken = Schemas["NewToken"];

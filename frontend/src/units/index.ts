export * from "./colour";
export * from "./constants";
export * from "./format";
export * from "./parse";
export * from "./tokens";

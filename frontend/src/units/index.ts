export * from "./colour";
export * from "./constants";
export * from "./dates";
export * from "./format";
export * from "./parse";
export * from "./tokens";

/** The parts of an OpenAPI 3.1 document that the reference shows. */

export interface Schema {
  $ref?: string;
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
}

export interface ParameterObject {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header" | "cookie";
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}

export interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: ParameterObject[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema; example?: unknown }> };
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, { schema?: Schema }> }
  >;
}

export interface Document {
  openapi: string;
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema>; [kind: string]: Record<string, unknown> | undefined };
}

export interface Endpoint {
  key: string;
  method: string;
  path: string;
  tag: string;
  operation: Operation;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export function endpointsOf(document: Document): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      const operation = item[method]!;
      return {
        key: operation.operationId ?? `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        tag: operation.tags?.[0] ?? "other",
        operation,
      };
    }),
  );
}

/** Follows `#/…` references; an unknown one is an empty object. */
export function deref<T extends { $ref?: string }>(document: Document, value: T | undefined): T | undefined {
  let at: unknown = value;
  for (let hops = 0; hops < 8; hops++) {
    const ref = (at as { $ref?: string } | undefined)?.$ref;
    if (!ref?.startsWith("#/")) return at as T | undefined;
    at = ref
      .slice(2)
      .split("/")
      .reduce<unknown>(
        (node, key) =>
          (node as Record<string, unknown> | undefined)?.[key.replaceAll("~1", "/").replaceAll("~0", "~")],
        document,
      );
  }
  return undefined;
}

export const refName = (schema: Schema | undefined) => schema?.$ref?.split("/").at(-1);

/** `integer`, `PlanSpec[]`, `string | null`: a type as one reads it. */
export function typeText(document: Document, schema: Schema | undefined): string {
  if (!schema) return "any";
  const name = refName(schema);
  if (name) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((choice) => typeText(document, choice)).join(" | ");
  if (schema.allOf?.length === 1) return typeText(document, schema.allOf[0]);
  if (schema.items || schema.type === "array") return `${typeText(document, schema.items)}[]`;
  if (Array.isArray(schema.type)) return schema.type.join(" | ");
  return schema.type ?? "any";
}

/**
 * A value to start from: the document's own example, a default, or the smallest thing of its type.
 */
export function exampleOf(document: Document, schema: Schema | undefined, depth = 0): unknown {
  const full = deref(document, schema);
  if (!full || depth > 6) return null;
  if (full.example !== undefined) return full.example;
  if (full.examples?.length) return full.examples[0];
  if (full.default !== undefined) return full.default;
  if (full.const !== undefined) return full.const;
  if (full.enum?.length) return full.enum[0];
  const choices = full.anyOf ?? full.oneOf ?? full.allOf;
  if (choices?.length) return exampleOf(document, choices[0], depth + 1);
  switch (Array.isArray(full.type) ? full.type[0] : full.type) {
    case "object": {
      const value: Record<string, unknown> = {};
      for (const [name, property] of Object.entries(full.properties ?? {}))
        if (full.required?.includes(name)) value[name] = exampleOf(document, property, depth + 1);
      return value;
    }
    case "array":
      return [];
    case "integer":
    case "number":
      return full.minimum ?? 0;
    case "boolean":
      return false;
    case "string":
      return "";
    default:
      return null;
  }
}

/** The path with its parameters filled in and the query behind it. Empty values are left out. */
export function fillPath(
  path: string,
  parameters: readonly ParameterObject[],
  values: Record<string, string>,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const query = new URLSearchParams();
  for (const parameter of parameters) {
    const value = values[parameter.name];
    if (parameter.in === "query" && value) query.set(parameter.name, value);
  }
  const text = query.toString();
  return text ? `${filled}?${text}` : filled;
}

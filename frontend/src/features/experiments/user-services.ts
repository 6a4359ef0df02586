/**
 * Services that a user wrote, as an experiment holds them: a name, a number, and the module's file
 * in base64.
 */
import { isObject, type JsonObject } from "@/shared/plans/spec";
import type { Draft } from "./draft";
import { emulationOf, withEmulation } from "./engine";

export const MOST_SERVICES = 4;
/**
 * The most bytes of a module’s text format: in base64 it fits into a request. The server sends the
 * limit of binary modules.
 */
export const MOST_FILE_BYTES = 1_000_000;
export const FIRST_ID = 256;
export const LAST_ID = 65_535;

const NAME_CHARACTERS = 32;

/** Empty if there are none, or if the JSON typed by the user contains no list of them. */
export function servicesOf(draft: Draft): JsonObject[] {
  const { services } = emulationOf(draft);
  return Array.isArray(services) && services.every(isObject) ? services : [];
}

export const withServices = (draft: Draft, services: readonly JsonObject[]): Draft =>
  withEmulation(draft, "services", services.length > 0 ? [...services] : undefined);

/** A service's name from its file's: small letters, digits and hyphens, a letter first. */
export function serviceName(file: string): string {
  const plain = file
    .replace(/\.[^.]*$/, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  const name = /^[a-z]/.test(plain) ? plain : plain ? `service-${plain}` : "service";
  return name.slice(0, NAME_CHARACTERS).replace(/-+$/, "");
}

export function base64Of(bytes: Uint8Array): string {
  const PIECE = 0x8000; // more arguments at once some browsers refuse
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE)
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}

/** The number of bytes that a base64 text encodes. */
export function bytesIn(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/**
 * A module from a file: in place of that of the service of the file's name, else of a new service.
 */
export function withModule(services: readonly JsonObject[], file: string, module: string): JsonObject[] {
  const name = serviceName(file);
  if (services.some((service) => service.name === name))
    return services.map((service) => (service.name === name ? { ...service, module } : service));
  const ids = services.map(({ id }) => (typeof id === "number" ? id : FIRST_ID));
  return [...services, { name, id: Math.min(LAST_ID, Math.max(FIRST_ID - 1, ...ids) + 1), module }];
}

/** The problem of a file before it is read; null if it can be sent. */
export function fileProblem(
  file: { name: string; size: number },
  services: readonly JsonObject[],
): string | null {
  const name = file.name.length > 60 ? `${file.name.slice(0, 60)}…` : file.name;
  if (/\.py$/i.test(file.name))
    return `${name} is a Python service: it runs in processes of whoever starts the run. Use cubeyard emulate --service-file ${name} on the command line, or write it as a WebAssembly module.`;
  if (!/\.(wasm|wat)$/i.test(file.name))
    return `${name} is no WebAssembly module by its name. Choose a .wasm file, or one in the text format, .wat.`;
  if (file.size === 0) return `${name} is empty. Build the service again.`;
  if (file.size > MOST_FILE_BYTES)
    return `${name} is too large: ${(file.size / 1e6).toFixed(1)} MB. A module may be 128 KiB, as text 1 MB: build it for size.`;
  if (
    services.length >= MOST_SERVICES &&
    !services.some((service) => service.name === serviceName(file.name))
  )
    return `${name} would be service ${services.length + 1}, but a run has at most ${MOST_SERVICES}. Remove one first.`;
  return null;
}

/** The draft for a link, which has no room for modules. */
export const withoutModules = (draft: Draft): Draft =>
  withServices(
    draft,
    servicesOf(draft).map(({ module: _, ...rest }) => rest),
  );

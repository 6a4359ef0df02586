/** Prepares the dropped files for the upload. */
import { textOf } from "@/ui/file-text";

/** The server takes no larger ones. */
export const MOST_BYTES = 64 * 1024 * 1024;

export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

export interface Upload {
  name: string;
  body: Blob;
  type: "text/csv" | "application/json" | typeof XLSX;
  /** The device of a file that may be lldpctl's of one device: the file's name. */
  host: string | undefined;
}

export interface NamedText {
  name: string;
  text: string;
}

/** A file's name without its last extension: `h00` of `h00.json`. */
export const stem = (name: string): string => name.replace(/(?<=.)\.[^.]*$/, "");

const isJson = (text: string): boolean => /^\uFEFF?\s*[{[]/.test(text);

/**
 * One list is sent as it is; several outputs of lldpctl, one per device and named after it, are
 * sent as one document. Throws an Error with a message if the files cannot be sent together.
 */
export function uploadOf(files: readonly NamedText[]): Upload {
  const [first] = files;
  if (!first) throw new Error("No file was chosen.");
  if (files.length === 1) {
    const type = isJson(first.text) ? "application/json" : first.text.startsWith("PK") ? XLSX : "text/csv";
    const host = type === "application/json" ? stem(first.name) : undefined;
    return { name: first.name, body: new Blob([first.text]), type, host };
  }
  const documents = files.map(({ name, text }) => {
    if (!isJson(text))
      throw new Error(`${name} is no output of lldpctl. Choose one list, or several files of lldpctl.`);
    let output: unknown;
    try {
      output = JSON.parse(text.replace(/^\uFEFF/, ""));
    } catch (error) {
      throw new Error(`${name} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (typeof output !== "object" || output === null || !("lldp" in output) || "host" in output)
      return output;
    return { host: stem(name), ...output };
  });
  return {
    name: `${files.length} files`,
    body: new Blob([JSON.stringify(documents)]),
    type: "application/json",
    host: undefined,
  };
}

/** Reads the files, too large ones refused. */
export async function readFiles(files: readonly File[]): Promise<Upload> {
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > MOST_BYTES)
    throw new Error(`The files have more than ${MOST_BYTES / 1024 / 1024} MiB, the most that can be read.`);
  const [only] = files;
  if (only && files.length === 1) {
    // Sent unchanged: the server detects the encoding.
    const upload = uploadOf([{ name: only.name, text: await textOf(only.slice(0, 1024)) }]);
    return { ...upload, body: only };
  }
  return uploadOf(
    await Promise.all(files.map(async (file) => ({ name: file.name, text: await textOf(file) }))),
  );
}

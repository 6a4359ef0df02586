/** Not part of the index: the one file here that needs a document. */

/** Hands a file to the browser as a download; `type` is that of a text. */
export function saveFile(content: Blob | string, name: string, type = "text/csv"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the file after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

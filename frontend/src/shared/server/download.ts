/** Files that the server makes, fetched with the token this page has, and handed to the browser. */
import { call, errorOf, requestTo } from "@/api/client";
import { toast } from "@/ui/toast";
import { saveFile } from "@/units/save-file";

/**
 * The name the server gave the file, from Content-Disposition; the plain form is enough, ours are
 * ASCII.
 */
export function fileNameOf(disposition: string | null, fallback: string): string {
  const star = disposition?.match(/filename\*=UTF-8''([^;]+)/i)?.[1];
  if (star) {
    try {
      return decodeURIComponent(star);
    } catch {
      // A bad escape: the plain name is still there.
    }
  }
  return disposition?.match(/filename="?([^";]+)"?/i)?.[1] ?? fallback;
}

/** Saves the response of `path`; an error is shown, not thrown. */
export async function downloadFrom(path: string, fallbackName: string): Promise<void> {
  try {
    const response = await call(requestTo(path));
    if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
    saveFile(await response.blob(), fileNameOf(response.headers.get("content-disposition"), fallbackName));
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "error");
  }
}

/** The path that the page is served under: behind a proxy a prefix like `/cubeyard`, else empty. */
export const BASE = baseOf(
  typeof document === "undefined" ? null : document.querySelector<HTMLMetaElement>('meta[name="base"]'),
);

/** The server writes its path into the page's `meta`; a development server leaves `./`. */
export function baseOf(meta: Pick<HTMLMetaElement, "content"> | null): string {
  return (meta?.content ?? "").replace(/^\.?\/$|\/$/, "");
}

/** A path of the server, such as `/api/v1/plans`, as the browser must request it. */
export function serverPath(path: string, base: string = BASE): string {
  return path.startsWith(`${base}/`) ? path : base + path;
}

/** A path of the page, without the prefix. */
export function pagePath(path: string, base: string = BASE): string {
  return base && path.startsWith(`${base}/`) ? path.slice(base.length) : path;
}

/** `path` with the origin, for commands and links outside the page. */
export const serverUrl = (path: string): string => location.origin + serverPath(path);

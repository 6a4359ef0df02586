/**
 * Sending a call from the page: one at a time, to be cancelled, with its answer or why there is
 * none.
 */
import { useRef, useState } from "react";
import { call, requestTo } from "@/api/client";

export interface Answer {
  status: number;
  statusText: string;
  ms: number;
  bytes: number;
  type: string;
  text: string | null;
  blob: Blob;
}

export function useSend() {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const abort = useRef<AbortController | null>(null);

  const send = async (target: string, init: RequestInit) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setBusy(true);
    setError(null);
    const started = performance.now();
    try {
      const response = await call(requestTo(target, { ...init, signal: controller.signal }));
      const blob = await response.blob();
      const type = response.headers.get("content-type") ?? "";
      const textual = /json|text|xml|svg|csv|yaml/.test(type);
      let text = textual ? await blob.text() : null;
      if (text !== null && type.includes("json")) text = pretty(text);
      setAnswer({
        status: response.status,
        statusText: response.statusText,
        ms: Math.round(performance.now() - started),
        bytes: blob.size,
        type,
        text,
        blob,
      });
    } catch (caught) {
      if (!controller.signal.aborted) setError(caught instanceof Error ? caught.message : String(caught));
    } finally {
      if (abort.current === controller) setBusy(false);
    }
  };
  return { answer, error, busy, send, cancel: () => abort.current?.abort() };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

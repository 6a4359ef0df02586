/**
 * The draft and the URL that contains it: a link to a draft, to a plan, or to an experiment to
 * start from.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { pagePath } from "@/api/base";
import { api, take } from "@/api/client";
import { resolveRef } from "@/shared/plans/refs";
import { fitsLink, pack, unpack } from "@/shared/plans/share";
import { canonical, DEFAULT_SPEC, type JsonObject } from "@/shared/plans/spec";
import type { ExperimentsSearch } from "@/shared/runs/run-url";
import { type Draft, draftOf, newDraft, readDraft } from "./draft";
import { SMALL_PLAN, withEngine } from "./engine";
import { fitAtOnce, remember, remembered, type Taken } from "./fitting";
import { withoutModules } from "./user-services";

const URL_QUIET_MS = 300;

export function useDraft() {
  const search = useSearch({ strict: false }) as ExperimentsSearch;
  const navigate = useNavigate();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft | null>(null);
  const [error, setError] = useState<unknown>(null);
  // A URL that this page wrote itself must not be loaded again.
  const written = useRef<string | null>(null);
  const [taken, setTaken] = useState<Taken | null>(null);
  const onTaken = useCallback((next: Draft, what: Taken) => {
    remember(what);
    setTaken(what);
    setDraft(next);
  }, []);
  const { draft: code, plan, from, engine } = search;

  useEffect(() => {
    if (code !== undefined && code === written.current) return;
    let stale = false;
    const load = async (): Promise<Draft> => {
      if (code !== undefined) {
        const read = readDraft(JSON.parse(await unpack(code)));
        if (!read) throw new Error("This link is damaged or incomplete: it has no plan.");
        setTaken((before) => before ?? remembered(read));
        return read;
      }
      if (from !== undefined)
        return draftOf(
          await client.fetchQuery({
            queryKey: ["experiment", from],
            queryFn: ({ signal }) =>
              take(api.GET("/api/v1/experiments/{id}", { params: { path: { id: from } }, signal })),
          }),
        );
      const begun = (body: JsonObject) => withEngine(newDraft(body), engine ?? "flow");
      if (plan === undefined) return begun(engine ? SMALL_PLAN : DEFAULT_SPEC);
      const { id, spec } = await resolveRef(plan);
      const before = begun((id ? { id } : spec!) as JsonObject);
      const fitted = engine && (await fitAtOnce(before));
      if (!fitted || stale) return before;
      remember(fitted.taken);
      setTaken(fitted.taken);
      return fitted.draft;
    };
    setError(null);
    load().then(
      (next) => !stale && setDraft(next),
      (problem) => !stale && setError(problem),
    );
    return () => {
      stale = true;
    };
  }, [code, plan, from, engine, client]);

  const change = useCallback((next: Draft) => setDraft(next), []);
  const edited = draft !== null && canonical(draft) !== canonical(newDraft(DEFAULT_SPEC));
  useEffect(() => {
    if (!draft || !edited) return;
    let stale = false;
    const timer = setTimeout(async () => {
      const whole = await pack(draft);
      const next = fitsLink(whole) ? whole : await pack(withoutModules(draft));
      // Another page may be on its way in while this one still stands.
      if (stale || next === written.current || pagePath(location.pathname) !== "/experiments") return;
      written.current = next;
      void navigate({
        from: "/experiments",
        to: ".",
        search: ({ plan: _, from: __, engine: ___, ...rest }) => ({ ...rest, draft: next }),
        replace: true,
      });
    }, URL_QUIET_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [draft, edited, navigate]);
  return { draft, error, change, taken, onTaken };
}

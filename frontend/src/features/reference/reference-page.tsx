import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { call, errorOf, requestTo } from "@/api/client";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { matchScore } from "@/shared/shell/commands";
import { Shell } from "@/shared/shell/shell";
import { buttonClass } from "@/ui/button";
import { TextInput } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import { plural } from "@/units";
import { EndpointView } from "./endpoint-view";
import { type Document, type Endpoint, endpointsOf } from "./openapi";
import styles from "./reference-page.module.css";

const DESCRIPTION = "/api/v1/openapi.json";
const REQUESTS: ScreenRequest[] = [
  { title: "OpenAPI document", method: "GET", path: DESCRIPTION, output: "openapi.json" },
];

export default function ReferencePage() {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(() => decodeURIComponent(location.hash.slice(1)));
  const description = useQuery({
    queryKey: ["openapi"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await call(requestTo(DESCRIPTION, { signal }));
      if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
      return (await response.json()) as Document;
    },
  });
  useScreen(REQUESTS);
  useTitle("API");

  const endpoints = useMemo(
    () => (description.data ? endpointsOf(description.data) : []),
    [description.data],
  );
  const shown = endpoints.filter(
    (e) => matchScore(`${e.method} ${e.path} ${e.operation.summary ?? ""} ${e.tag}`, query) !== null,
  );
  const byTag = new Map<string, Endpoint[]>();
  for (const endpoint of shown) byTag.set(endpoint.tag, [...(byTag.get(endpoint.tag) ?? []), endpoint]);
  const endpoint = endpoints.find((e) => e.key === chosen) ?? endpoints[0];

  return (
    <Shell
      actions={
        <a className={buttonClass()} href={DESCRIPTION} download="openapi.json">
          OpenAPI
        </a>
      }
      status={
        description.data && (
          <span>{`${description.data.info.title} ${description.data.info.version}, ${plural(endpoints.length, "call")}`}</span>
        )
      }
    >
      {description.isError ? (
        <ProblemView error={description.error} onRetry={() => void description.refetch()} />
      ) : (
        <div className={styles.page}>
          <nav className={styles.list} aria-label="Calls">
            <h1>API</h1>
            <TextInput
              type="search"
              aria-label="Filter calls"
              placeholder="Filter calls"
              value={query}
              onChange={(event) => setQuery(event.target.value)}
            />
            {!description.data && <Skeleton height={200} />}
            {[...byTag].map(([tag, list]) => (
              <section key={tag}>
                <h2>{tag}</h2>
                <ul>
                  {list.map((e) => (
                    <li key={e.key}>
                      <a
                        href={`#${encodeURIComponent(e.key)}`}
                        className={styles.call}
                        aria-current={e.key === endpoint?.key || undefined}
                        onClick={(event) => {
                          event.preventDefault();
                          history.replaceState(history.state, "", `#${encodeURIComponent(e.key)}`);
                          setChosen(e.key);
                        }}
                      >
                        <span className={styles.method} data-method={e.method}>
                          {e.method}
                        </span>
                        <span className={styles.path}>{e.path.replace("/api/v1", "")}</span>
                      </a>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
            {description.data && shown.length === 0 && <p className="muted">No matching calls.</p>}
          </nav>
          {description.data && endpoint && (
            <EndpointView key={endpoint.key} document={description.data} endpoint={endpoint} />
          )}
        </div>
      )}
    </Shell>
  );
}

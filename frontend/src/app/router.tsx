import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { BASE } from "@/api/base";
import { loadFaultKinds } from "@/shared/faults/fault-kinds";
import { readChangesSearch, readPlanSearch } from "@/shared/plans/url-state";
import { readExperimentsSearch, readRunSearch, readRunsSearch } from "@/shared/runs/run-url";
import { ErrorPage, NotFoundPage } from "./fallbacks";

const root = createRootRoute({
  component: Outlet,
  errorComponent: ErrorPage,
  notFoundComponent: NotFoundPage,
});

// One component for the three plan routes, so that going from the default plan to an edited or a
// saved one keeps the drawing, its zoom and the undo history.
const plan = createRoute({
  getParentRoute: () => root,
  id: "plan",
  validateSearch: readPlanSearch,
  component: lazyRouteComponent(() => import("@/features/plan/plan-page")),
});
const home = createRoute({ getParentRoute: () => plan, path: "/" });
const planNew = createRoute({ getParentRoute: () => plan, path: "/plans/new" });
const planSaved = createRoute({ getParentRoute: () => plan, path: "/plans/$id" });

export interface CrewSearch {
  revision?: number;
  rack?: string;
  /** `C00012`: the cable on screen. */
  cable?: string;
}

const crew = createRoute({
  getParentRoute: () => root,
  path: "/plans/$id/crew",
  validateSearch: (search: Record<string, unknown>): CrewSearch => {
    const revision = Number(search.revision);
    const text = (key: "rack" | "cable") =>
      typeof search[key] === "string" && search[key] !== "" ? { [key]: search[key].slice(0, 120) } : {};
    return {
      ...(Number.isInteger(revision) && revision > 0 && { revision }),
      ...text("rack"),
      ...text("cable"),
    };
  },
  component: lazyRouteComponent(() => import("@/features/crew/crew-page")),
});

const asBuilt = createRoute({
  getParentRoute: () => root,
  path: "/plans/$id/as-built",
  validateSearch: ({ revision }: Record<string, unknown>): { revision?: number } =>
    Number.isInteger(Number(revision)) && Number(revision) > 0 ? { revision: Number(revision) } : {},
  component: lazyRouteComponent(() => import("@/features/as-built/as-built-page")),
});

export interface CompareSearch {
  /** Saved ids, `ex.…` examples and `z.…` packed specs, by commas. */
  plans?: string;
  base?: number;
  as?: "charts";
  /** Exchange rates of other currencies to the base's: `EUR=1.08`, separated by commas. */
  rates?: string;
}

const RATES = /^[A-Z]{3}=[0-9]{1,9}(\.[0-9]{1,9})?(,[A-Z]{3}=[0-9]{1,9}(\.[0-9]{1,9})?){0,7}$/;

const compare = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  validateSearch: (search: Record<string, unknown>): CompareSearch => {
    const base = Number(search.base);
    return {
      ...(typeof search.plans === "string" && search.plans.length < 200_000 && { plans: search.plans }),
      ...(Number.isInteger(base) && base > 0 && base < 4 && { base }),
      ...(search.as === "charts" && { as: "charts" as const }),
      ...(typeof search.rates === "string" && RATES.test(search.rates) && { rates: search.rates }),
    };
  },
  component: lazyRouteComponent(() => import("@/features/compare/compare-page")),
});

export interface CatalogSearch {
  book?: string;
  version?: number;
  kind?: string;
  part?: string;
  q?: string;
}

const catalog = createRoute({
  getParentRoute: () => root,
  path: "/catalog",
  validateSearch: (search: Record<string, unknown>): CatalogSearch => {
    const version = Number(search.version);
    const text = (key: string) =>
      typeof search[key] === "string" && search[key] !== ""
        ? { [key]: (search[key] as string).slice(0, 200) }
        : {};
    return {
      ...text("book"),
      ...text("kind"),
      ...text("part"),
      ...text("q"),
      ...(Number.isInteger(version) && version > 0 && { version }),
    };
  },
  component: lazyRouteComponent(() => import("@/features/catalog/catalog-page")),
});

const experiments = createRoute({
  getParentRoute: () => root,
  path: "/experiments",
  validateSearch: readExperimentsSearch,
  loader: loadFaultKinds,
  component: lazyRouteComponent(() => import("@/features/experiments/experiments-page")),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: "/runs",
  validateSearch: readRunsSearch,
  component: lazyRouteComponent(() => import("@/features/runs/runs-page")),
});
const run = createRoute({
  getParentRoute: () => root,
  path: "/runs/$id",
  validateSearch: readRunSearch,
  loader: loadFaultKinds,
  component: lazyRouteComponent(() => import("./run-route")),
});

const figures = createRoute({
  getParentRoute: () => root,
  path: "/figures",
  component: lazyRouteComponent(() => import("@/features/figures/figures-page")),
});
const figure = createRoute({
  getParentRoute: () => root,
  path: "/figures/$id",
  component: lazyRouteComponent(() => import("@/features/figures/figure-page")),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/settings-page")),
});

const changes = createRoute({
  getParentRoute: () => root,
  path: "/changes",
  validateSearch: readChangesSearch,
  component: lazyRouteComponent(() => import("@/features/changes/changes-page")),
});

const search = createRoute({
  getParentRoute: () => root,
  path: "/search",
  component: lazyRouteComponent(() => import("@/features/search/search-page")),
});

const life = createRoute({
  getParentRoute: () => root,
  path: "/life",
  validateSearch: ({ plan }: Record<string, unknown>): { plan?: string } =>
    typeof plan === "string" && plan !== "" && plan.length < 65_000 ? { plan } : {},
  component: lazyRouteComponent(() => import("@/features/life/life-page")),
});

const chip = createRoute({
  getParentRoute: () => root,
  path: "/chip",
  component: lazyRouteComponent(() => import("@/features/chip/chip-page")),
});

const reference = createRoute({
  getParentRoute: () => root,
  path: "/api",
  component: lazyRouteComponent(() => import("@/features/reference/reference-page")),
});

export const router = createRouter({
  routeTree: root.addChildren([
    plan.addChildren([home, planNew, planSaved]),
    crew,
    asBuilt,
    compare,
    catalog,
    experiments,
    runs,
    run,
    figures,
    figure,
    search,
    life,
    chip,
    reference,
    changes,
    settings,
  ]),
  basepath: BASE || "/",
  defaultPreload: "intent",
  // Plain `key=value` text: names like 0132 stay text and links stay readable.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const params = new URLSearchParams();
    for (const [key, value] of Object.entries(search))
      if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
    const text = params.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%7E", "~");
    return text ? `?${text}` : "";
  },
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

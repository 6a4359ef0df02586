import "@/ui/tokens.css";
import "@/ui/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "@/api/client";
import { isReachable, onReachable } from "@/api/connection";
import { installShortcuts } from "@/shared/shell/commands";
import { router } from "./router";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // The server's own answer is final; only a server that is away is worth another try.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 2,
    },
  },
});

// When the server is back, repeat the queries that failed while it was away.
onReachable(() => {
  if (isReachable())
    void client.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
});

installShortcuts();

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

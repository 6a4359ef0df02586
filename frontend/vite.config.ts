import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The page and the API are one origin in production (the backend serves dist/). In development Vite
// proxies to the backend; changeOrigin makes Host match what the backend's Host and Origin checks
// expect.
const backend = process.env.CUBEYARD_URL ?? "http://127.0.0.1:8123";

export default defineConfig({
  plugins: [react()],
  // Addresses in the files are relative; the server makes those of index.html absolute.
  base: "./",
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    port: 5173,
    proxy: {
      "/api/v1": {
        target: backend,
        changeOrigin: true,
        ws: true,
        configure: (proxy) => {
          proxy.on("proxyReq", (request) => {
            if (request.getHeader("origin")) request.setHeader("origin", backend);
          });
          proxy.on("proxyReqWs", (request) => {
            if (request.getHeader("origin")) request.setHeader("origin", backend);
          });
        },
      },
      "/healthz": { target: backend, changeOrigin: true },
    },
  },
  build: {
    target: "es2022",
    manifest: true,
    sourcemap: false,
    assetsInlineLimit: 2048,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What every page loads stands in one file: many small ones compress worse.
        codeSplitting: {
          groups: [
            {
              name: "common",
              test: /src\/(api\/|units\/|ui\/(button|cx|marks|clipboard|data-table|form|icon|number-text|table-order|tabs|unreadable|use-settled|use-file-drop|use-title)\.|shared\/(shell\/(commands|guide\/guide-state)|plans\/(examples|url-state|names|share|spec))\.)/,
            },
            {
              name: "tanstack",
              test: /node_modules\/(@tanstack\/(?!react-virtual|virtual-core)|use-sync-external-store\/)/,
            },
          ],
        },
      },
    },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.ts", "src/**/*.test.tsx", "scripts/**/*.test.ts"],
    // For a test that hangs; a busy machine takes several times as long as a quiet one.
    testTimeout: 60_000,
    // Files share the modules of their worker: React is loaded once. A module that a test replaced
    // with vi.mock would be replaced for other files too, or not at all, by their order: tests
    // replace methods (vi.spyOn) instead.
    isolate: false,
  },
});

import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  cacheDir: "../node_modules/.vite-harness",
  // Plan documents for ?plan=NAME: a folder with NAME.json, anywhere outside the project.
  publicDir: process.env.HARNESS_PLANS ?? false,
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("../src", import.meta.url)) } },
  server: { host: "127.0.0.1", port: 5199, strictPort: true },
});

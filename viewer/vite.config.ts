import { fileURLToPath } from "node:url";
import { svelte, vitePreprocess } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One HTML file with everything in it; `make viewer` puts it into the Python package.
export default defineConfig({
  plugins: [svelte({ preprocess: vitePreprocess(), configFile: false }), viteSingleFile({ removeViteModuleLoader: true })],
  root: fileURLToPath(new URL(".", import.meta.url)),
  build: { target: "es2022", cssCodeSplit: false, reportCompressedSize: false },
});

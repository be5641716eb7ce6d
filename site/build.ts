/** Builds the site of the documents in dist/site; with `--serve`, serves it and reloads it when a document changes. */
import { watch } from "node:fs";
import { join } from "node:path";
import { build, createServer } from "vitepress";
import { ROOT } from "../scripts/tools.ts";
import { clear, OUTPUT, SITE, stage } from "./stage.ts";

clear();
stage();
if (process.argv.includes("--serve")) {
  const server = await createServer(SITE);
  await server.listen();
  server.printUrls();
  for (const place of ["docs", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md"]) {
    watch(join(ROOT, place), { recursive: place === "docs" }, stage);
  }
} else {
  await build(SITE);
  console.log(`The site is in ${OUTPUT}. To deploy it: npx wrangler deploy --config site/wrangler.toml`);
}

/** Bundles the view into a single page, view-html.ts. `npm start`, `npm test` and `npm run deploy` run this automatically. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const { outputFiles } = await build({
  entryPoints: [join(here, "main.ts")],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  write: false,
});
const script = outputFiles[0]?.text.trim() ?? "";
// Escape text that would end the script element.
const inline = `<script>${script.replaceAll("</script", "<\\/script")}</script>`;
const page = readFileSync(join(here, "view.html"), "utf8").replace("<script></script>", () => inline);
const text = `/** Made from the folder view by \`npm run view\`. Change it there. */\nexport const VIEW_HTML: string =\n  ${JSON.stringify(page)};\n`;
writeFileSync(join(here, "../src/view-html.ts"), text);

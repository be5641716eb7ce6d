/** Prints the size of each measured program and its budget: first the kit alone, then whole programs as wrangler deploys them. */
import { DEPLOYED, deployedKib } from "./deployed-size.ts";
import { pageAppKib } from "./page-app.ts";
import { PROGRAMS, sizeOf } from "./size-of.ts";

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;

for (const { name, entry, gzipKibMax } of PROGRAMS) {
  const { minified, gzip } = await sizeOf(entry);
  console.log(`${name}: ${kib(gzip)} gzip of at most ${gzipKibMax} KiB (${kib(minified)} minified)`);
}
for (const program of DEPLOYED) {
  const { name, gzipKibMax } = program;
  const budget = gzipKibMax === undefined ? "" : ` of at most ${gzipKibMax} KiB`;
  console.log(`${name}: ${(await deployedKib(program)).toFixed(1)} KiB gzip${budget}`);
}
console.log(`the page of mcp-edge dev: ${(await pageAppKib()).toFixed(1)} KiB gzip of at most 59.4 KiB`);

/** Prints the size of each measured program and its budget. */
import { PROGRAMS, sizeOf } from "./size-of.ts";

const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;

for (const { name, entry, gzipKibMax } of PROGRAMS) {
  const { minified, gzip } = await sizeOf(entry);
  console.log(`${name}: ${kib(gzip)} gzip of at most ${gzipKibMax} KiB (${kib(minified)} minified)`);
}

// @module-tag long
/** The example docs-server as it would be deployed. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { runToolQuietly } from "../harness/tools.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/docs-server");
/** The maximum size of the compressed script, in KiB. Cloudflare's Free plan allows 3 MiB. */
const KIB_MAX = 512;

test("the script is smaller than the Free plan allows, and needs no binding", { timeout: 120_000 }, () => {
  const { status, output } = runToolQuietly("wrangler", ["deploy", "--dry-run"], EXAMPLE);
  expect(status, output).toBe(0);
  expect(Number(/gzip: ([\d.]+) KiB/.exec(output)?.[1])).toBeLessThan(KIB_MAX);
  expect(output).toContain("No bindings found");
});

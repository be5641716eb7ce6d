/** Tests the server over standard input and output. */
import { stdio } from "mcp-edge/node";
import { expect, test } from "vitest";
import { call, LEGACY, MODERN, open } from "./site.ts";

test.each([MODERN, LEGACY])("a check is an ordinary call, and its job is listed (%s)", async (version) => {
  const client = await open(stdio({ command: process.execPath, args: ["src/stdio.ts"] }), version);
  // No request leaves this machine, because the address is refused.
  expect(await call(client, "check_site", { url: "https://192.168.0.1/" })).toContain("its address is not public");
  expect(await call(client, "list_jobs")).toContain("https://192.168.0.1/: failed");
  await client.close();
});

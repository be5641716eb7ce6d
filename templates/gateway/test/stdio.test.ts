/** Tests the gateway over standard input and output. */
import { stdio } from "mcp-edge/node";
import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, LEGACY, MODERN, open, startUpstreams, user } from "./helpers.ts";

let upstreams: TestWorker;
beforeAll(async () => {
  upstreams = await startUpstreams();
});
afterAll(() => upstreams?.stop());

describe.each([MODERN, LEGACY])("a client of %s", (version) => {
  test.each(["modern", "legacy"])("calls the server %s, which asks a question", async (name) => {
    const UPSTREAMS = JSON.stringify([{ name, url: upstreams.url(`/${name}`) }]);
    const { onElicit, questions } = user();
    const gateway = stdio({ command: process.execPath, args: ["src/stdio.ts"], env: { UPSTREAMS } });
    const client = await open(gateway, version, { onElicit });
    expect(await call(client, `${name}__order`, { id: crypto.randomUUID() })).toBe("M true, begun 1 times");
    expect(questions).toEqual([`${name}: Which size?`, `${name}: Order M?`]);
    expect(await call(client, "gateway_status")).toContain(`${name}: works.`);
    await client.close();
  });
});

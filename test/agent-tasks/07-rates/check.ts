import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, Issuer, postRaw, startProject, VERSIONS } from "../harness.ts";

let issuer: Issuer;
let worker: TestWorker;
beforeAll(async () => {
  issuer = await Issuer.create();
  worker = await startProject({ outbound: (request) => issuer.answer(request) });
});
afterAll(() => worker?.stop());

/** Connects a client of a user, and keeps the responses that are refused with 429. */
async function open(user: string, version: string) {
  const refusals: Response[] = [];
  const client = await connectTo(worker, {
    protocolVersions: [version],
    headers: await issuer.headers(worker, user),
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.status === 429) refusals.push(response.clone());
      return response;
    },
  });
  return { client, refusals };
}

test("requests without a valid token are refused", async () => {
  expect((await postRaw(worker)).status).toBe(401);
});

describe.each(VERSIONS)("in %s", (version) => {
  test("the sixth call of a minute is refused, and only this user and this tool", async () => {
    const [ada, second] = [await open(`ada-${version}`, version), await open(`ada-${version}`, version)];
    const grace = await open(`grace-${version}`, version);
    for (let calls = 0; calls < 5; calls += 1) {
      const { client } = calls % 2 === 0 ? ada : second;
      expect(await call(client, "expensive")).toMatchObject({ isError: false, text: "ok" });
    }
    expect((await call(ada.client, "expensive")).isError).toBe(true);
    expect((await call(second.client, "expensive")).isError).toBe(true);
    const [refused] = ada.refusals;
    expect(Number(refused?.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(Number(refused?.headers.get("Retry-After"))).toBeLessThanOrEqual(60);
    for (let calls = 0; calls < 12; calls += 1) expect((await call(ada.client, "cheap")).text).toBe("ok");
    expect((await call(grace.client, "expensive")).text).toBe("ok");
    for (const { client } of [ada, second, grace]) await client.close();
  });

  test("after a minute, the user may call again", async () => {
    const { client } = await open(`eva-${version}`, version);
    for (let calls = 0; calls < 6; calls += 1) await call(client, "expensive");
    expect((await call(client, "expensive")).isError).toBe(true);
    await worker.advance(61_000);
    expect((await call(client, "expensive")).text).toBe("ok");
    await client.close();
  });
});

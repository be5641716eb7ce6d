/** Connecting with a signal, results with a type, and answers that are awaited after the process that asked for them has ended. */
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { connect } from "../../src/client/index.ts";
import { startProxy } from "../../src/testing/proxy.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { Lab, ME } from "./places.ts";
import { DONE, discovered, result, scripted } from "./scripted.ts";

const join = useClients();
let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe("connect() with a signal", () => {
  test("rejects with the reason of the signal, even while the server is silent", async () => {
    await using server = await scripted(() => undefined);
    const abort = new AbortController();
    const connecting = connect(server.url, { ...ME, signal: abort.signal });
    setTimeout(() => abort.abort(new Error("enough")), 50);
    await expect(connecting).rejects.toThrow("enough");
  });

  test("does not send anything if the signal has aborted before", async () => {
    await using server = await scripted(() => undefined);
    await expect(connect(server.url, { ...ME, signal: AbortSignal.abort(new Error("never")) })).rejects.toThrow(
      "never",
    );
    expect(server.asked).toEqual([]);
  });

  test("does not affect a client that is connected", async () => {
    await using server = await scripted(({ message }, response) => {
      return result(response, message?.id, message?.method === "server/discover" ? discovered() : DONE);
    });
    const abort = new AbortController();
    const { client } = await join(server.url, { signal: abort.signal });
    abort.abort();
    expect(await client.callTool("a")).toEqual(DONE);
  });
});

describe("callTool() with the option output", () => {
  const structured = (structuredContent: unknown, more: object = {}) =>
    scripted(({ message }, response) => {
      const answer = message?.method === "server/discover" ? discovered() : { ...DONE, ...more, structuredContent };
      return result(response, message?.id, answer);
    });
  const output = z.object({ sum: z.number() });

  test("returns structured content of its type", async () => {
    await using server = await structured({ sum: 3 });
    const { client } = await join(server.url);
    const called = await client.callTool("add", {}, { output });
    if (called.isError) throw new Error("The tool failed.");
    expectTypeOf(called.structuredContent).toEqualTypeOf<{ sum: number }>();
    expect(called.structuredContent.sum).toBe(3);
  });

  test.each([[{ sum: "3" }], [undefined]])(
    "refuses %j as the result of a call that has run, naming the place",
    async (content) => {
      await using server = await structured(content);
      const { client } = await join(server.url);
      await expect(client.callTool("add", {}, { output })).rejects.toMatchObject({
        code: "answer-invalid",
        mayHaveRun: true,
        message: expect.stringContaining(
          content ? "structuredContent/sum does not match" : "structuredContent does not match",
        ),
      });
    },
  );

  test("returns the failure of a tool without validating it", async () => {
    await using server = await structured(undefined, { isError: true });
    const { client } = await join(server.url);
    expect(await client.callTool("add", {}, { output })).toMatchObject({ isError: true });
  });
});

describe("resume tokens of interrupted requests", () => {
  const LEGACY = { ...ME, protocolVersions: ["2025-11-25"] };

  test("a token gives another client the result, with the progress in between, after the first client was lost", async () => {
    const proxy = await startProxy(lab.worker.origin);
    const tokens: string[] = [];
    let isDead = false;
    const first = await connect(proxy.url("/mcp"), {
      ...LEGACY,
      fetch: (url, init) => (isDead ? new Promise<never>(() => undefined) : fetch(url, init)),
    });
    const begun = new Promise<void>((resolve) => {
      const onProgress = () => resolve();
      const onResumeToken = (token: string) => void tokens.push(token);
      first.callTool("paced", { key: "p1", steps: 3 }, { onProgress, onResumeToken }).catch(() => undefined);
    });
    await begun;
    isDead = true;
    proxy.cut("rst");
    // The connections that were cut leave the pool of this process, which a new process would not have.
    await fetch(proxy.url("/")).catch(() => undefined);
    const { client } = await join(proxy.url("/mcp"), { protocolVersions: ["2025-11-25"] });
    const progress: number[] = [];
    const resumed = client.resume(String(tokens.at(-1)), { onProgress: (update) => progress.push(update.progress) });
    for (const step of [1, 2, 3]) {
      await client.callTool("pace", { key: "p1", steps: step });
      if (step < 3) await until(`step ${step + 1}`, () => progress.includes(step + 1));
    }
    expect(await resumed).toMatchObject({ content: [{ text: "done" }] });
    expect(progress).toEqual([2, 3]);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    await proxy[Symbol.asyncDispose]();
  });

  test("a token of a session that has ended rejects as a call that may have run", async () => {
    const { client } = await join(lab.url(), { protocolVersions: ["2025-11-25"] });
    const token = btoa(JSON.stringify([lab.url(), "2025-11-25", "unknown", 1, "tools/call", "1-1"]));
    await expect(client.resume(token)).rejects.toMatchObject({ code: "session-lost", mayHaveRun: true });
  });

  test.each([
    "",
    "x",
    btoa("[]"),
    btoa(JSON.stringify(["http://127.0.0.1:1/mcp", "2026-07-28", "s", 1, "tools/call", "e"])),
  ])("the token %j is refused, and no request is sent", async (token) => {
    const { client } = await join(lab.url());
    await expect(client.resume(token)).rejects.toMatchObject({ code: "options-invalid" });
  });

  test("a token of another server is refused, naming the server", async () => {
    const { client } = await join(lab.url());
    const token = btoa(JSON.stringify(["http://127.0.0.1:1/mcp", "2025-11-25", "s", 1, "tools/call", "e"]));
    await expect(client.resume(token)).rejects.toThrow("the token is for http://127.0.0.1:1/mcp");
  });
});

/** Tests the gateway on real workerd, in front of servers in another process, with every combination of eras. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, LEGACY, MODERN, open, startUpstreams, until, user } from "./helpers.ts";

const ADA = "key-of-ada-0123456789";
const BOB = "key-of-bob-0123456789";
const CALLERS = JSON.stringify({ ada: { key: ADA, tokens: { own: "token-of-ada" } }, bob: { key: BOB } });

let upstreams: TestWorker;
let worker: TestWorker;
beforeAll(async () => {
  upstreams = await startUpstreams();
  const modern = upstreams.url("/modern");
  worker = await startGateway([
    { name: "modern", url: modern },
    { name: "legacy", url: upstreams.url("/legacy") },
    { name: "shared", url: modern, token: "shared" },
    { name: "own", url: modern, token: "caller" },
    { name: "down", url: `http://127.0.0.1:${await closedPort()}/mcp` },
  ]);
});
afterAll(async () => {
  await worker?.stop();
  await upstreams?.stop();
});

const startGateway = (list: readonly object[], bindings = {}) =>
  startWorker({
    wrangler: "wrangler.toml",
    bindings: { UPSTREAMS: list, CALLERS, SHARED_TOKEN: "token-of-all", ...bindings },
  });

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

const connectWith = (version = MODERN, options = {}, key = ADA) =>
  open(worker.url("/mcp"), version, { headers: { Authorization: `Bearer ${key}` }, ...options });

describe.each([MODERN, LEGACY])("a client of %s", (version) => {
  test("gets the lists of all working servers, with prefixes", async () => {
    const client = await connectWith(version);
    const tools = await client.tools().all();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["gateway_status", "modern__add", "legacy__add", "own__whoami"]));
    expect(new Set(names).size).toBe(names.length);
    const add = tools.find(({ name }) => name === "legacy__add");
    expect(add).toMatchObject({
      description: "Adds numbers",
      annotations: { readOnlyHint: true },
      inputSchema: { required: ["a", "b"] },
      outputSchema: { required: ["sum"] },
    });
    const resources = await client.resources().all();
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(["modern+notes:///today", "legacy+notes:///today"]),
    );
    expect((await client.prompts().all()).map(({ name }) => name)).toContain("legacy__explain");
    await client.close();
  });

  describe.each(["modern", "legacy"])("and the server %s", (server) => {
    test("calls tools, reads resources, gets prompts and completes", async () => {
      const client = await connectWith(version);
      const { structuredContent } = await client.callTool(`${server}__add`, { a: 1, b: 2 });
      expect(structuredContent).toEqual({ sum: 3 });
      expect(await call(client, `${server}__add`, { a: "x" })).toMatch(/^Error: Invalid arguments for tool "add"/);
      const { contents } = await client.readResource(`${server}+notes:///today`);
      expect(contents).toMatchObject([
        { uri: `${server}+notes:///today`, text: `today of ${server === "modern" ? MODERN : LEGACY}` },
      ]);
      const day = await client.readResource(`${server}+notes:///days/monday`);
      expect(day.contents).toMatchObject([{ text: "day monday" }]);
      await expect(client.readResource(`${server}+notes:///days/sunday`)).rejects.toThrow("Resource not found");
      const { messages } = await client.getPrompt(`${server}__explain`, { topic: "rain" });
      expect(messages).toMatchObject([{ role: "user", content: { text: "Explain rain." } }]);
      const prompt = { type: "ref/prompt", name: `${server}__explain` } as const;
      expect((await client.complete(prompt, "topic", "")).values).toEqual(["rain", "snow"]);
      const template = { type: "ref/resource", uri: `${server}+notes:///days/{day}` } as const;
      expect((await client.complete(template, "day", "t")).values).toEqual(["tuesday"]);
      await client.close();
    });

    test("links in a result lead through the gateway", async () => {
      const client = await connectWith(version);
      const { content } = await client.callTool(`${server}__link`);
      expect(content).toMatchObject([
        { type: "resource_link", uri: `${server}+notes:///today` },
        { type: "resource", resource: { uri: `${server}+notes:///today`, text: "inside" } },
      ]);
      await client.close();
    });

    test("questions reach the user, answers and progress arrive, and the call runs only once", async () => {
      const { onElicit, questions } = user();
      const client = await connectWith(version, { onElicit });
      const progress: (string | undefined)[] = [];
      const id = crypto.randomUUID();
      const text = await call(
        client,
        `${server}__order`,
        { id },
        {
          onProgress: ({ message }: { message?: string }) => progress.push(message),
        },
      );
      expect(text).toBe("M true, begun 1 times");
      expect(questions).toEqual([`${server}: Which size?`, `${server}: Order M?`]);
      expect(progress).toEqual(["looking", "almost done"]);
      await client.close();
    });

    test("a user may decline", async () => {
      const client = await connectWith(version, { onElicit: () => ({ action: "decline" }) });
      expect(await call(client, `${server}__order`, { id: "declined" })).toMatch(/^decline/);
      await client.close();
    });

    test("the model of the client answers the server", async () => {
      const client = await connectWith(version, {
        onSample: () => ({ role: "assistant", content: { type: "text", text: "blue" }, model: "test" }),
      });
      expect(await call(client, `${server}__ask_model`)).toBe("The model says: blue");
      await client.close();
    });

    test("a client that cannot be asked receives the server's error", async () => {
      const client = await connectWith(version);
      const outcome = await call(client, `${server}__order`, { id: "unasked" }).catch(String);
      expect(outcome).toMatch(/elicitation/);
      await client.close();
    });

    test("changes of the server's lists and resources reach the client", async () => {
      const listed = Promise.withResolvers<void>();
      const updated = Promise.withResolvers<string>();
      const client = await connectWith(version, { onToolsChanged: listed.resolve, onResourceUpdated: updated.resolve });
      await client.subscribe(`${server}+notes:///today`);
      await call(client, `${server}__touch`);
      expect(await updated.promise).toBe(`${server}+notes:///today`);
      const name = `grown_${version.slice(0, 4)}`;
      await call(client, `${server}__grow`, { name });
      await listed.promise;
      const has = async () => (await client.tools().all()).some((tool) => tool.name === `${server}__${name}`);
      await until(has, (found) => found);
      expect(await call(client, `${server}__${name}`)).toBe(`I am ${name}`);
      await client.close();
    });

    test("a cancelled call is also cancelled at the server", async () => {
      const client = await connectWith(version, { onElicit: () => ({ action: "cancel" }) });
      const abort = new AbortController();
      const waiting = client.callTool(`${server}__wait`, {}, { signal: abort.signal });
      abort.abort(new Error("changed my mind"));
      await expect(waiting).rejects.toThrow("changed my mind");
      // The gateway still responds to this client.
      expect(await call(client, `${server}__whoami`)).toBe("authorization: null");
      await client.close();
    });
  });
});

describe("tokens", () => {
  test("a server receives its own token, the caller's token or none, but never the key for the gateway", async () => {
    const client = await connectWith();
    expect(await call(client, "modern__whoami")).toBe("authorization: null");
    expect(await call(client, "shared__whoami")).toBe("authorization: Bearer token-of-all");
    expect(await call(client, "own__whoami")).toBe("authorization: Bearer token-of-ada");
    const bob = await connectWith(MODERN, {}, BOB);
    expect(await call(bob, "own__whoami")).toBe("authorization: null");
    await client.close();
    await bob.close();
  });

  test("a caller without a key, or with a wrong one, is refused", async () => {
    for (const headers of [{}, { Authorization: "Bearer wrong" }] as Record<string, string>[]) {
      const response = await fetch(worker.url("/mcp"), {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      });
      expect(response.status).toBe(401);
    }
  });

  test("a server that refuses its token is reported with a hint, and the other servers work", async () => {
    await using closed = await startGateway([], {});
    const url = closed.url("/mcp");
    await using gateway = await startGateway([
      { name: "closed", url, token: "shared" },
      { name: "open", url: upstreams.url("/modern") },
    ]);
    const client = await open(gateway.url("/mcp"), MODERN, { headers: { Authorization: `Bearer ${ADA}` } });
    const status = await call(client, "gateway_status");
    expect(status).toContain('The server "closed" refused the token. Store a valid token as the secret CLOSED_TOKEN.');
    expect(status).toMatch(/open: works\., upstream of 2026-07-28 1\.0\.0, MCP 2026-07-28 \d+ tools/);
    expect(await call(client, "open__add", { a: 1, b: 1 })).toContain("2");
    await client.close();
  });
});

describe("failures", () => {
  test("a server that cannot be reached is reported, and the other servers work", async () => {
    const client = await connectWith();
    expect(await call(client, "gateway_status")).toContain('down: The server "down" cannot be reached. 0 tools');
    await client.close();
  });

  test("while a server is down, its tools stay listed and calls report it; later they work again", async () => {
    await using other = await startUpstreams();
    await using gateway = await startGateway([
      { name: "other", url: other.url("/modern") },
      { name: "legacy", url: upstreams.url("/legacy") },
    ]);
    const client = await open(gateway.url("/mcp"), MODERN, { headers: { Authorization: `Bearer ${ADA}` } });
    expect(await call(client, "other__add", { a: 1, b: 1 })).toContain("2");
    await other.kill();
    expect(await call(client, "other__add", { a: 1, b: 1 })).toBe(
      'Error: The server "other" cannot be reached. It may have run the call.',
    );
    expect(await call(client, "legacy__add", { a: 1, b: 1 })).toContain("2");
    await other.restart();
    expect(await call(client, "other__add", { a: 1, b: 1 })).toContain("2");
    await client.close();
  });

  test("a held call that was lost is reported", async () => {
    const { onElicit } = user(async () => {
      for (const id of await worker.objects("CallObject")) await worker.abort("CallObject", id);
    });
    const client = await connectWith(MODERN, { onElicit });
    expect(await call(client, "legacy__order", { id: "lost" })).toContain(
      "The call was lost while it waited for the answer",
    );
    await client.close();
  });
});

test("sessions and lists survive eviction and a crash", async () => {
  const events: string[] = [];
  const client = await connectWith(LEGACY, { onEvent: ({ type }: { type: string }) => events.push(type) });
  expect(await call(client, "legacy__add", { a: 1, b: 2 })).toContain("3");
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  expect(await call(client, "legacy__add", { a: 1, b: 2 })).toContain("3");
  await worker.restart();
  expect(await call(client, "legacy__add", { a: 1, b: 2 })).toContain("3");
  expect(events).not.toContain("session-reopened");
  await client.close();
});

test("an alarm finds changes that were missed while the listening object was lost", async () => {
  const changed = Promise.withResolvers<void>();
  const client = await connectWith(MODERN, { onToolsChanged: changed.resolve });
  await client.tools().all();
  await worker.abort("ListsObject", "modern ");
  const direct = await open(upstreams.url("/modern"));
  await call(direct, "grow", { name: "grown_unseen" });
  expect(await worker.runAlarm("ListsObject", "modern ")).toBe(true);
  await changed.promise;
  expect((await client.tools().all()).map(({ name }) => name)).toContain("modern__grown_unseen");
  await direct.close();
  await client.close();
});

test("the gateway reaches a stdio server through mcp-edge expose", async () => {
  const manifest = createRequire(import.meta.url).resolve("mcp-edge/package.json");
  const program = join(dirname(manifest), "bin", "mcp-edge.js");
  const server = `${process.execPath} ${join("test", "upstream", "stdio.ts")}`;
  const child = spawn(process.execPath, [program, "expose", "--json", server], {
    env: { ...process.env, MCP_EDGE_TOKEN: "token-of-the-bridge" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  try {
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (output += data));
    const [url = ""] = await until(
      async () => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(output) ?? [],
      (found) => found.length > 0,
    );
    await using gateway = await startGateway([{ name: "local", url, token: "shared" }], {
      LOCAL_TOKEN: "token-of-the-bridge",
    });
    for (const version of [MODERN, LEGACY]) {
      const client = await open(gateway.url("/mcp"), version, {
        headers: { Authorization: `Bearer ${ADA}` },
        onElicit: user().onElicit,
      });
      expect(await call(client, "local__greet")).toBe("Hello, M!");
      await client.close();
    }
  } finally {
    child.kill();
    await once(child, "close");
  }
});

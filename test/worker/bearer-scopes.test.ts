/** The scopes that single tools, prompts, resources and methods need, in both eras, in sessions and over HTTP+SSE. */
import { describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { type Members, request } from "../http/messages.ts";
import { type Client, LegacyClient, ModernClient, readAnswer } from "./client.ts";
import { bearer, setUp, tokenFor, url } from "./protected.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

setUp();

type Era = "modern" | "in a session" | "without sessions";

/** A client of one era with a token of these scopes. */
async function clientWith(era: Era, scope: string, path = pathOf(era)): Promise<Client> {
  const token = await tokenFor(path, { scope });
  if (era === "in a session") return LegacyClient.open(url(path), { token });
  if (era === "modern") {
    const client = new ModernClient(url(path));
    const request: Client["request"] = (method, params) => client.request(method, params, { headers: bearer(token) });
    return { era: "modern", request, call: (name, args) => request("tools/call", { name, arguments: args ?? {} }) };
  }
  const send: Client["request"] = (method, params) => {
    const headers = { "content-type": "application/json", accept: "application/json", ...bearer(token) };
    return fetch(url(path), { method: "POST", headers, body: JSON.stringify(request(method, params)) });
  };
  return { era: "legacy", request: send, call: (name, args) => send("tools/call", { name, arguments: args ?? {} }) };
}

function pathOf(era: Era): string {
  return era === "without sessions" ? "/stateless" : "/files";
}

/** The status of a response, and the scopes of its challenge. */
async function resultOf(response: Promise<Response>): Promise<readonly [number, string | undefined]> {
  const { status, headers, body } = await response;
  await body?.cancel();
  const challenge = headers.get("WWW-Authenticate") ?? undefined;
  if (challenge !== undefined) {
    expect(challenge).toContain('error="insufficient_scope"');
    expect(challenge).toMatch(/resource_metadata="[^"]+\/oauth-protected-resource\/(files|stateless)"$/);
  }
  return [status, /[ ,]scope="([^"]*)"/.exec(challenge ?? "")?.[1]];
}

const ERAS: readonly Era[] = ["modern", "in a session", "without sessions"];

/** Each operation, and the scopes that it needs beside "mcp". */
const OPERATIONS: readonly (readonly [string, Members, string])[] = [
  ["tools/call", { name: "write", arguments: {} }, "files:write"],
  ["tools/call", { name: "audit", arguments: {} }, "audit files:read"],
  ["prompts/get", { name: "summary" }, "files:read"],
  ["resources/read", { uri: "file:///report" }, "files:read"],
  ["resources/read", { uri: "note://s%65cret" }, "audit"],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "summary" }, argument: { name: "tone", value: "" } },
    "files:read",
  ],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "file:///{path}" }, argument: { name: "path", value: "" } },
    "files:read",
  ],
  ["example.com/stats", {}, "audit"],
];

const OPEN: readonly (readonly [string, Members])[] = [
  ["tools/call", { name: "list", arguments: {} }],
  ["prompts/get", { name: "plain" }],
  ["resources/read", { uri: "file:///public" }],
  ["resources/read", { uri: "other://one" }],
  ["resources/read", { uri: "note://s%65cret-no-more" }],
  ["tools/list", {}],
];

describe.each(ERAS)("an operation (%s)", (era) => {
  test.each(OPERATIONS)(
    "%s of %j is refused with all scopes that it needs, and served with them",
    async (method, params, needed) => {
      const narrow = await clientWith(era, "mcp");
      expect(await resultOf(narrow.request(method, params))).toEqual([403, `mcp ${needed}`]);
      for (const one of needed.split(" ").slice(1)) {
        expect(await resultOf((await clientWith(era, `mcp ${one}`)).request(method, params))).toEqual([
          403,
          `mcp ${needed}`,
        ]);
      }
      // The step up: the same request with the scopes of the challenge.
      const answer = await readAnswer((await clientWith(era, `mcp ${needed}`)).request(method, params));
      expect([answer.status, answer.raw]).toEqual([200, expect.stringContaining('"result"')]);
    },
  );

  test.each(OPEN)("%s of %j needs only the scopes of every request", async (method, params) => {
    const answer = await readAnswer((await clientWith(era, "mcp")).request(method, params));
    expect([answer.status, answer.raw]).toEqual([200, expect.stringContaining('"result"')]);
  });

  test("is served with a broader scope", async () => {
    const client = await clientWith(era, "mcp files");
    for (const [method, params, needed] of OPERATIONS) {
      const isIncluded = needed.startsWith("files");
      expect([method, params, (await resultOf(client.request(method, params)))[0]]).toEqual([
        method,
        params,
        isIncluded ? 200 : 403,
      ]);
    }
  });
});

test.each(["modern", "in a session"] as const)(
  "a definition is listed only for callers with its scopes if the server has the function visible (%s)",
  async (era) => {
    const shown = async (scope: string) => {
      const client = await clientWith(era, scope, "/own");
      const lists = ["tools", "prompts", "resources", "resources/templates"].map(async (list) => {
        const { messages } = await readAnswer(client.request(`${list}/list`, {}));
        const result = (messages.at(-1)?.result ?? {}) as Record<string, Members[] | undefined>;
        const entries = result.tools ?? result.prompts ?? result.resources ?? result.resourceTemplates ?? [];
        return entries.map(({ name, uri, uriTemplate }) => uriTemplate ?? uri ?? name);
      });
      return (await Promise.all(lists)).flat().sort();
    };
    const open = ["file:///public", "list", "note://{name}", "other://one", "plain"];
    expect(await shown("mcp")).toEqual(open);
    expect(await shown("mcp files:read")).toEqual([...open, "file:///{path}", "summary"].sort());
    expect(await shown("mcp files audit")).toEqual(
      [...open, "file:///{path}", "note://secret", "summary", "audit", "write"].sort(),
    );
  },
);

describe("scopes of several operations", () => {
  test("are all needed for a batch", async () => {
    const token = await tokenFor("/files", { scope: "mcp" });
    const client = await LegacyClient.open(url("/files"), { version: "2025-03-26", token });
    const batch = ["list", "write", "audit"].map((name, id) => request("tools/call", { name, arguments: {} }, id));
    expect(await resultOf(client.send(batch))).toEqual([403, "mcp files:write audit files:read"]);
    expect(await resultOf(client.send(batch.slice(0, 1)))).toEqual([200, undefined]);
  });

  test("are all needed for a subscription, one for each of its resources", async () => {
    const client = await clientWith("modern", "mcp");
    const listen = (...uris: string[]) =>
      client.request("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
    expect(await resultOf(listen("file:///public", "file:///report"))).toEqual([403, "mcp files:read"]);
    expect(await resultOf(listen("file:///public"))).toEqual([200, undefined]);
    expect(await resultOf(listen("file:///public", "NOTE://secret"))).toEqual([403, "mcp audit"]);
    const session = await clientWith("in a session", "mcp");
    expect(await resultOf(session.request("resources/subscribe", { uri: "file:///report" }))).toEqual([
      403,
      "mcp files:read",
    ]);
    expect(await resultOf(session.request("resources/subscribe", { uri: "note://%73ecret" }))).toEqual([
      403,
      "mcp audit",
    ]);
  });

  test("are all needed for one URI that matches several templates", async () => {
    const client = await clientWith("modern", "mcp");
    expect(await resultOf(client.request("resources/read", { uri: "file:///a/key" }))).toEqual([
      403,
      "mcp audit files:read",
    ]);
    expect(await resultOf(client.request("resources/read", { uri: "file:///key" }))).toEqual([403, "mcp files:read"]);
  });
});

describe("requests", () => {
  test("a request over HTTP+SSE is refused at the POST, whose response has the challenge", async () => {
    const token = await tokenFor("/files", { scope: "mcp" });
    const stop = new AbortController();
    const headers = { accept: "text/event-stream", ...bearer(token) };
    const stream = await fetch(url("/files"), { headers, signal: stop.signal });
    const { value } = (await stream.body?.getReader().read()) ?? {};
    const [, endpoint = ""] = /data: (\S+)\n/.exec(new TextDecoder().decode(value)) ?? [];
    const post = (name: string, params?: Members) => {
      const message = params ? request(name, params) : request("tools/call", { name, arguments: {} });
      const body = JSON.stringify(message);
      return fetch(url(endpoint), {
        method: "POST",
        headers: { "content-type": "application/json", ...bearer(token) },
        body,
      });
    };
    expect(await resultOf(post("write"))).toEqual([403, "mcp files:write"]);
    expect((await post("list")).status).toBe(202);
    expect(await resultOf(post("resources/read", { uri: "note://s%65cret" }))).toEqual([403, "mcp audit"]);
    stop.abort();
  });

  test("a request that lacks a scope of every request gets a challenge that includes the scopes of its operation", async () => {
    const client = await clientWith("modern", "audit");
    expect(await resultOf(client.call("write"))).toEqual([403, "mcp files:write"]);
  });

  test("a request with a body that cannot be read is refused in the same way as by an endpoint without scopes", async () => {
    const token = await tokenFor("/files", { scope: "mcp" });
    const post = async (body: string) => {
      const headers = { "content-type": "application/json", accept: "application/json", ...bearer(token) };
      return (await fetch(url("/files"), { method: "POST", headers, body })).status;
    };
    expect(await post("{")).toBe(400);
    expect(await post("null")).toBe(400);
  });

  const deep = JSON.parse(`${'{"deep":'.repeat(80)}7${"}".repeat(80)}`) as Members;
  const large = { pad: "x".repeat(5 * 1024 * 1024) };
  test.each([
    ["deeper", deep],
    ["larger", large],
  ])("a request that is %s than the default limits is read if its endpoint allows it", async (_, args) => {
    const send = async (scope: string) => {
      return (await readAnswer((await clientWith("without sessions", scope)).call("write", args))).status;
    };
    expect(await send("mcp")).toBe(403);
    expect(await send("mcp files audit")).toBe(200);
  });

  test("a request that exceeds the limits of its endpoint is refused, even if another endpoint with the same plugin allows it", async () => {
    for (const scope of ["mcp", "mcp files audit"]) {
      const answer = await readAnswer((await clientWith("modern", scope)).call("write", deep));
      expect([scope, answer.status]).toEqual([scope, 400]);
    }
  });

  test.each([
    ["5 MiB, which another endpoint with the same plugin would read", 5, "list"],
    ["9 MiB, which no endpoint reads", 9, "write"],
  ])("a request of unannounced length with %s is refused with 413", async (_, mib, name) => {
    const token = await tokenFor("/files", { scope: "mcp" });
    const message = request("tools/call", { name, arguments: { pad: "x".repeat(mib * 1024 * 1024) } });
    const headers = { "content-type": "application/json", accept: "application/json", ...bearer(token) };
    const send = async () => {
      const body = chunked(JSON.stringify(message));
      return readAnswer(fetch(url("/files"), { method: "POST", headers, body, duplex: "half" } as RequestInit));
    };
    // The server responds before it has read everything, and closes. A client that still writes may lose the response.
    const lost = (error: unknown) => {
      if (error instanceof TypeError) return send();
      throw error;
    };
    const answer = await send().catch(lost).catch(lost).catch(lost);
    expect([answer.status, answer.raw]).toEqual([413, expect.stringContaining("bytes")]);
  });
});

/** A body whose length is not known before its end. */
function chunked(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += 65_536) controller.enqueue(bytes.subarray(at, at + 65_536));
      controller.close();
    },
  });
}

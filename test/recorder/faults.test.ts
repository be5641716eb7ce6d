// @module-tag long
/**
 * Twenty faults that were defined before the recorder was written. Each has a finding with its location. The servers are in
 * `fixtures`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry, Finding } from "../../src/recorder/entry.ts";
import { Recorder } from "../../src/recorder/recorder.ts";
import { openStream } from "../../src/testing/http-stream.ts";
import { until } from "../../src/testing/until.ts";
import { newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { LegacyClient, ModernClient, readAnswer } from "../worker/client.ts";
import { type RecordedWorker, startRecorded } from "./recorded-worker.ts";

expectLogs(/"boom" failed/, /"misfit" failed/, /In a repeated run/, /tokens must have the issuer/);

const CAPABLE = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

/** Waits for an entry with a finding that matches, and returns the finding. */
async function findingOf(
  { recorder }: Pick<RecordedWorker, "recorder">,
  what: RegExp,
  isFound: (entry: Entry) => boolean = () => true,
): Promise<Finding & { readonly entry: Entry }> {
  let found: (Finding & { readonly entry: Entry }) | undefined;
  const findings = () =>
    [...recorder.entries()].flatMap((entry) => entry.findings.map((finding) => ({ ...finding, entry })));
  await until(`a finding that matches ${what}`, () => {
    found = findings().findLast((each) => what.test(each.what) && isFound(each.entry));
    return found !== undefined;
  }).catch((error: unknown) => {
    const all = findings().map(({ what: each, where }) => `${each} | ${where}`);
    throw new Error(`${String(error)}\nFindings:\n${all.join("\n")}`);
  });
  if (!found) throw new Error("unreachable");
  expect(found.entry.marks).toContain("suspicious");
  expect([found.where, found.why].every((text) => text.length > 3)).toBe(true);
  return found;
}

/** Returns the findings of an entry that has ended. */
async function findingsOf(recorded: RecordedWorker, target: string): Promise<readonly Finding[]> {
  const entry = await recorded.entry(
    `the call of ${target}`,
    (each) => each.target === target && each.outcome !== "running",
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  return recorded.recorder.entry(entry.id)?.findings ?? [];
}

describe("storage", () => {
  let recorded: RecordedWorker;
  let client: ModernClient;
  beforeAll(async () => {
    const objects = { MCP: "McpObject", STORES: "Store" };
    recorded = await startRecorded({ entry: "test/recorder/fixtures/storage.ts", objects });
    client = new ModernClient(recorded.url("/mcp"));
    await (await client.request("tools/list")).text();
    await (await client.call("fill")).text();
  });
  afterAll(() => recorded[Symbol.asyncDispose]());

  test("1: finds one statement for each of 200 items", async () => {
    await (await client.call("names")).text();
    const { where, what } = await findingOf(recorded, /^Repeated 200 times: exec SELECT name FROM item WHERE id = \?/);
    expect(where).toMatch(/^Store [\da-f]{8}$/);
    expect(what).not.toContain("'");
  });

  test.each([
    ["2026-07-28", /^the Worker$/],
    ["2025-11-25", /^McpObject [\da-f]{8}, session$/],
  ])(
    "1: finds one call to an object for each of 200 items, and does not report the awaited calls as late work (%s)",
    async (version, place) => {
      const caller = version === "2026-07-28" ? client : await LegacyClient.open(recorded.url("/mcp"));
      await (await caller.call("calls")).text();
      const { where, entry } = await findingOf(
        recorded,
        /^Repeated 200 times: a call to an object, nameOf/,
        (each) => each.version === version,
      );
      expect(where).toMatch(place);
      await new Promise((resolve) => setTimeout(resolve, 200));
      const findings = recorded.recorder.entry(entry.id)?.findings.map(({ what }) => what);
      expect(findings).toEqual([expect.stringMatching(/^Repeated 200 times/)]);
    },
  );

  test("9: finds a statement that reads all rows", async () => {
    await (await client.call("search")).text();
    const { where } = await findingOf(recorded, /^One statement read 1[56]\d\d rows: exec SELECT \* FROM item/);
    expect(where).toMatch(/^table item, Store [\da-f]{8}$/);
  });

  test("7: finds a tool with readOnlyHint that writes", async () => {
    await (await client.call("count")).text();
    const { where } = await findingOf(recorded, /^The tool has readOnlyHint but writes data: exec INSERT INTO item/);
    expect(where).toMatch(/^Store [\da-f]{8}$/);
  });
});

describe("time", () => {
  let recorded: RecordedWorker;
  let client: ModernClient;
  beforeAll(async () => {
    const objects = { MCP: "McpObject", POLLERS: "Poller" };
    const outbound = async ({ url }: Request) => {
      if (url.includes("silent")) await new Promise(() => undefined);
      if (url.includes("slow")) await new Promise((resolve) => setTimeout(resolve, 1_200));
      if (url.includes("limited")) return new Response("later", { status: 429 });
      return new Response("sun");
    };
    const thresholds = { unansweredMs: 1_500, awakeMs: 2_000 };
    recorded = await startRecorded({ entry: "test/recorder/fixtures/time.ts", objects, outbound }, { thresholds });
    client = new ModernClient(recorded.url("/mcp"));
  });
  afterAll(() => recorded[Symbol.asyncDispose]());

  test("2: finds work that continues after the result because an await is missing", async () => {
    await (await client.call("lost")).text();
    const { where } = await findingOf(
      recorded,
      /^Work continued after the result was sent: fetch GET https:\/\/slow\.example\/audit/,
    );
    expect(where).toBe("the Worker");
  });

  test("2, in a session: finds late work in the object of the session", async () => {
    const session = await LegacyClient.open(recorded.url("/mcp"));
    await (await session.call("lost")).text();
    const { where } = await findingOf(
      recorded,
      /^Work continued after the result was sent/,
      ({ era }) => era === "legacy",
    );
    expect(where).toMatch(/^McpObject [\da-f]{8}, session$/);
  });

  test("2, with an object: finds a call that the handler does not await", async () => {
    await (await client.call("forgotten")).text();
    const { where } = await findingOf(
      recorded,
      /^Work continued after the result was sent: the method remember of this object$/,
    );
    expect(where).toMatch(/^Poller [\da-f]{8}$/);
  });

  test("finds a request that another server refused, although the tool reports something else", async () => {
    await (await client.call("limited")).text();
    const { where, why, entry } = await findingOf(
      recorded,
      /^Another server responded with status 429: fetch GET https:\/\/limited\.example\/forecast$/,
    );
    expect([where, why]).toEqual(["the Worker", expect.stringContaining("Retry-After")]);
    expect(entry.invocations.flatMap(({ spans }) => spans.map(({ status }) => status))).toEqual([429]);
  });

  test("5: finds another server that takes most of the time", async () => {
    await (await client.call("slow")).text();
    await findingOf(
      recorded,
      /^\d+ of \d+ ms were spent waiting for another server: fetch GET https:\/\/slow\.example\/forecast$/,
    );
  });

  test("20: finds an unanswered request to another server without a timeout", async () => {
    const leave = new AbortController();
    const call = client.call("silent", {}, { signal: leave.signal }).catch(() => undefined);
    const { entry, why } = await findingOf(recorded, /^No response for \d+ s: fetch/);
    expect([entry.outcome, why.includes("AbortSignal")]).toEqual(["running", true]);
    leave.abort();
    await call;
  });

  test("4: finds an alarm that always sets the next alarm", async () => {
    await (await client.call("poll")).text();
    const { where, entry } = await findingOf(
      recorded,
      /^An alarm ran \d+ times, and each run sets the next one in \d+ ms/,
    );
    expect([where.startsWith("Poller "), entry.kind]).toEqual([true, "alarm"]);
  });

  test("18: finds an object that stays in memory because a timer is pending", async () => {
    await (await client.call("linger")).text();
    const { where } = await findingOf(recorded, /^The object stayed in memory for \d+ s after its response/);
    expect(where).toMatch(/^Poller [\da-f]{8}$/);
  });

  test("a call without a fault has no findings", async () => {
    await (await client.call("fine")).text();
    expect(await findingsOf(recorded, "fine")).toEqual([]);
  });
});

describe("handlers", () => {
  let recorded: RecordedWorker;
  let client: ModernClient;
  beforeAll(async () => {
    recorded = await startRecorded(
      { entry: "test/recorder/fixtures/handlers.ts", objects: { MCP: "McpObject" } },
      { contents: true },
    );
    client = new ModernClient(recorded.url("/mcp"));
  });
  afterAll(() => recorded[Symbol.asyncDispose]());

  /** Answers the questions of a call until it has a result, or until the maximum number of rounds. */
  async function answer(tool: string, rounds: number): Promise<void> {
    let more: object = {};
    for (let round = 0; round < rounds; round += 1) {
      const response = await client.request("tools/call", { name: tool, arguments: {}, ...more }, { meta: CAPABLE });
      const { messages } = await readAnswer(response);
      const { result } = (messages.at(-1) ?? {}) as { result?: { inputRequests?: object; requestState?: string } };
      if (!result?.inputRequests) return;
      const answers = Object.keys(result.inputRequests).map((key) => [
        key,
        { action: "accept", content: { yes: false } },
      ]);
      more = { inputResponses: Object.fromEntries(answers), requestState: result.requestState };
    }
  }

  test("3: finds a handler that is not deterministic, with both questions in the error", async () => {
    await answer("dice", 4);
    const { what, entry } = await findingOf(recorded, /^KitError: In a repeated run, the handler asked/);
    expect(what).toMatch(/asked "elicitation-\w+", but not "elicitation-\w+" again, which was answered/);
    const codes = entry.invocations.flatMap(({ exceptions }) => exceptions.map(({ code }) => code));
    expect(codes).toContain("replay-diverged");
  });

  test("6: finds the exception behind a reference, with its position in the source", async () => {
    const text = await (await client.call("boom")).text();
    const [reference] = /[\da-f]{8}-[\da-f-]{27}/.exec(text) ?? [];
    const { where, what } = await findingOf(recorded, /^RangeError: the index 7 is out of range/);
    expect(what).toContain(`(reference ${reference})`);
    expect(where).toMatch(/^at Object\.handler \(.+:\d+:\d+\)$/);
  });

  test("8: finds a result that does not match its schema", async () => {
    await (await client.call("misfit")).text();
    await findingOf(recorded, /^KitError: The result of tool "misfit" does not fit its output schema/);
  });

  test("10: finds a question that is repeated in each round", async () => {
    await answer("insist", 5);
    const { what, where } = await findingOf(recorded, /^The same question was asked \d times: elicitation\/create/);
    expect([Number(/\d/.exec(what)?.[0]) >= 3, where]).toEqual([true, "insist"]);
  });

  test("19: finds 1,000 progress notifications in one call", async () => {
    const session = await LegacyClient.open(recorded.url("/mcp"));
    await (await session.call("flood", {}, { progressToken: 1 })).text();
    const { where } = await findingOf(recorded, /^1000 progress notifications in one call/);
    expect(where).toBe("flood");
  });

  test("16: finds a stream that the client closes before the result", async () => {
    const session = await LegacyClient.open(recorded.url("/mcp"));
    const stream = await openStream(recorded.url("/mcp"), callOf("wait", session));
    await stream.waitFor("progress", ({ messages }) => messages.length > 1);
    stream.cut("rst");
    const { where, entry } = await findingOf(
      recorded,
      /^The client closed the connection before it received the result/,
    );
    expect([where, entry.outcome]).toEqual(["ladder 1.0.0", "cut-by-client"]);
  });

  test("17: finds a stream that ends without a result because its object was reset", async () => {
    const session = await LegacyClient.open(recorded.url("/mcp"));
    const stream = await openStream(recorded.url("/mcp"), callOf("wait", session));
    await stream.waitFor("progress", ({ messages }) => messages.length > 1);
    const running = await until17(recorded);
    await recorded.worker.abort("McpObject", running);
    await stream.end();
    const { entry, where } = await findingOf(recorded, /^The object was reset during the call/);
    expect(where).toMatch(/McpObject [\da-f]{8}/);
    expect(entry.target).toBe("wait");
  });
});

/** Returns the id of the object in which the call runs. */
async function until17({ recorder, worker }: RecordedWorker): Promise<string> {
  let id: string | undefined;
  await until("the object of the session", async () => {
    const entry = [...recorder.entries()].findLast(({ target, outcome }) => target === "wait" && outcome === "running");
    const object = entry?.invocations.find(({ role }) => role === "session")?.object;
    id = (await worker.objects("McpObject")).find((each) => object !== undefined && each.startsWith(object));
    return id !== undefined;
  });
  return id ?? "";
}

function callOf(name: string, session: LegacyClient) {
  const params = { name, arguments: {}, _meta: { progressToken: 1 } };
  const headers = { "Mcp-Session-Id": session.sessionId, "MCP-Protocol-Version": "2025-11-25" };
  return { body: { jsonrpc: "2.0", id: 5, method: "tools/call", params }, headers };
}

describe("callers", () => {
  let recorded: RecordedWorker;
  let key: SigningKey;
  beforeAll(async () => {
    key = await newKey("ES256", "1");
    const bindings = { JWKS: { keys: [key.jwk] } };
    const objects = { MCP: "McpObject" };
    recorded = await startRecorded({ entry: "test/recorder/fixtures/protected.ts", objects, bindings });
  });
  afterAll(() => recorded[Symbol.asyncDispose]());

  const tokenOf = (subject: string, claims: object = {}) =>
    signJwt(key, {
      iss: "https://login.example.com",
      aud: recorded.url("/mcp"),
      sub: subject,
      exp: Math.floor(Date.now() / 1_000) + 600,
      client_id: "client",
      iat: Math.floor(Date.now() / 1_000),
      jti: subject,
      ...claims,
    });
  const call = async (token: string, tool: string, headers: Record<string, string> = {}) => {
    const authorization = { authorization: `Bearer ${token}` };
    return new ModernClient(recorded.url("/mcp")).call(tool, {}, { headers: { ...authorization, ...headers } });
  };

  test("11: finds a client that opens a session for each call", async () => {
    const token = await tokenOf("opener");
    for (let round = 0; round < 3; round += 1) {
      const session = await LegacyClient.open(recorded.url("/mcp"), { token, silent: true });
      if (round < 2) await (await session.call("read")).text();
    }
    const { where, entry } = await findingOf(recorded, /^3 sessions of one client, with at most one call each/);
    expect([where, entry.method]).toEqual(["ladder 1.0.0", "initialize"]);
  });

  test("12: finds a client that ignores Retry-After", async () => {
    const token = await tokenOf("hurry");
    const statuses: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      const response = await call(token, "read");
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(1);
    const { where } = await findingOf(recorded, /^The client did not wait: Retry-After was \d+ s/);
    expect(where).toBe("Retry-After");
  });

  test("13: finds a token that was issued for another server", async () => {
    const token = await tokenOf("ada", { aud: "https://other.example.com/mcp" });
    expect((await call(token, "read")).status).toBe(401);
    const { where } = await findingOf(
      recorded,
      /^The token was issued for https:\/\/other\.example\.com\/mcp, not for this server/,
    );
    expect(where).toContain("aud");
  });

  test("14: finds a missing scope", async () => {
    expect((await call(await tokenOf("bob"), "write")).status).toBe(403);
    await findingOf(recorded, /^The token lacks a scope\. Required: notes:write/);
  });

  test("15: finds a page whose origin is not allowed", async () => {
    const response = await call(await tokenOf("eve"), "read", { origin: "https://app.example.com" });
    expect(response.status).toBe(403);
    const { why } = await findingOf(
      recorded,
      /^The page at https:\/\/app\.example\.com is not allowed to call this server/,
    );
    expect(why).toContain('allowedOrigins: ["https://app.example.com"]');
  });

  test("no recorded value contains a token", async () => {
    const shown = JSON.stringify([...recorded.recorder.entries()]);
    expect(shown).not.toContain("eyJhbGciOi");
  });
});

test("8, for any server: checks the result against the listed output schema", () => {
  const recorder = new Recorder({
    contents: false,
    endpointPath: "/mcp",
    hash: (text) => text.padEnd(16, "0"),
    checkOutput: (_, value) => (typeof (value as { sum: unknown }).sum === "number" ? undefined : "/sum"),
  });
  const exchange = (id: number, method: string, params: object, result: object) => {
    const wire = recorder.begin({ atMs: 1, method: "POST", path: "/mcp", headers: [] });
    wire.requestBody({ json: { jsonrpc: "2.0", id, method, params }, characters: 1 });
    wire.response(200, []);
    wire.responseBody({ jsonrpc: "2.0", id, result }, 2, 1);
    wire.complete(2);
    return wire.entry;
  };
  const outputSchema = { type: "object", properties: { sum: { type: "number" } } };
  exchange(1, "tools/list", {}, { tools: [{ name: "add", inputSchema: {}, outputSchema }] });
  const good = exchange(2, "tools/call", { name: "add" }, { content: [], structuredContent: { sum: 8 } });
  const bad = exchange(3, "tools/call", { name: "add" }, { content: [], structuredContent: { sum: "eight" } });
  recorder.examine(3);
  expect(good.findings).toEqual([]);
  expect(bad.findings).toMatchObject([
    { what: expect.stringContaining("output schema"), where: "structuredContent/sum" },
  ]);
});

// @module-tag long
/**
 * Possible deployments: which server answers which request, where it is mounted, and which messages each client gets.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Workerd } from "../harness/workerd.ts";
import { initialize, LEGACY_VERSIONS, type Members, request } from "../http/messages.ts";
import { type Client, LegacyClient, ModernClient, readAnswer, VERSIONS, type Version } from "./client.ts";
import { startDeployments } from "./deployments.ts";
import { useTaps } from "./taps.ts";

let worker: Workerd;
const tapped = useTaps();

beforeAll(async () => {
  worker = await startDeployments();
});
afterAll(() => worker?.stop());

/** The address of an endpoint through the oracle's tap. */
const at = (path: string) => tapped(worker.origin + path);

interface Who {
  readonly token?: string;
  readonly capabilities?: Members;
}

/** A client of any version that authenticates every request. */
async function open(version: Version, url: string, { token, capabilities }: Who = {}): Promise<Client> {
  if (version !== "2026-07-28") {
    return LegacyClient.open(url, { version, ...(token ? { token } : {}), ...(capabilities ? { capabilities } : {}) });
  }
  const client = new ModernClient(url);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const say: Client["request"] = (method, params = {}, options = {}) =>
    client.request(method, params, { ...options, headers: { ...headers, ...options.headers } });
  return {
    era: "modern",
    request: say,
    call: (name, args = {}, options) => say("tools/call", { name, arguments: args }, options),
  };
}

const text = async (path: string) => (await fetch(`${worker.origin}${path}`)).text();
const post = (path: string) => fetch(`${worker.origin}${path}`, { method: "POST" });
const send = (path: string, message: unknown) =>
  fetch(`${worker.origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify(message),
  });
const heard = async () => (await fetch(`${worker.origin}/heard`)).json() as Promise<string[]>;
const toolsOf = async (client: Client, headers = {}) => {
  const [{ result }] = (await readAnswer(client.request("tools/list", undefined, { headers }))).messages as [
    { result: Members },
  ];
  return (result.tools as { name: string }[]).map(({ name }) => name);
};

let keys = 0;

function newKey(): string {
  keys += 1;
  return `key${keys}`;
}

describe.each(VERSIONS)("a server for each request (%s)", (version) => {
  test("is chosen by header, by binding and by principal, and has its own lists", async () => {
    const url = await at("/chosen");
    const anonymous = await open(version, url);
    const headers = { "x-team": "green" };
    expect((await readAnswer(anonymous.call("which"))).text).toBe("west");
    expect((await readAnswer(anonymous.call("which", {}, { headers }))).text).toBe("green");
    expect(await toolsOf(anonymous, headers)).toContain("only_green");
    expect(await toolsOf(anonymous)).not.toContain("only_green");
    const refused = await readAnswer(anonymous.call("only_green"));
    expect(refused.messages).toMatchObject([{ error: { code: -32602 } }]);
    for (const token of ["alice", "bob"]) {
      const client = await open(version, url, { token });
      expect((await readAnswer(client.call("which", {}, { headers }))).text).toBe(token);
      expect((await readAnswer(client.call(`only_${token}`))).text).toBe(`only ${token}`);
      expect(await toolsOf(client)).toContain(`only_${token}`);
    }
  });

  test("runs a modern call in its isolate and a session's call in its object, in any isolate", async () => {
    const [here, there] = [await text("/isolate"), await text("/twin/isolate")];
    expect(here).not.toBe(there);
    const client = await open(version, await at("/twin/chosen"), { token: "carol" });
    expect((await readAnswer(client.call("where"))).text).toBe(client.era === "modern" ? there : here);
    expect((await readAnswer(client.call("which"))).text).toBe("carol");
  });

  test("is chosen by the route at which it is mounted", async () => {
    for (const tenant of ["acme", "umbrella"]) {
      const client = await open(version, await at(`/tenants/${tenant}/api/mcp`));
      expect((await readAnswer(client.call("which"))).text).toBe(tenant);
      expect(await toolsOf(client)).toContain(`only_${tenant}`);
    }
  });

  test("has its own hooks and limits beside other servers of the Worker", async () => {
    const [red, blue] = [await open(version, await at("/red/mcp")), await open(version, await at("/deep/er/blue/mcp"))];
    const before = (await heard()).length;
    expect((await readAnswer(red.call("patient"))).messages.at(-1)).toMatchObject({ result: { isError: true } });
    expect((await readAnswer(blue.call("patient"))).text).toBe("never stopped");
    await readAnswer(red.call("fail"));
    const after = (await heard()).slice(before);
    expect(after).toContain("red failed on purpose");
    expect(after.filter((each) => each.startsWith("blue failed"))).toEqual([]);
    expect(after.filter((each) => each === "blue ended tools/call")).toHaveLength(1);
    expect(after.filter((each) => each === "red ended tools/call")).toHaveLength(2);
    // Bypasses the oracle: a body that is refused unread has an id that the response cannot contain.
    const long = initialize(version, "x".repeat(700));
    expect((await send("/red/mcp", long)).status).toBe(413);
    expect((await send("/deep/er/blue/mcp", long)).status).toBe(200);
  });
});

test("a session of one server is unknown to another server of the Worker", async () => {
  const red = await LegacyClient.open(await at("/red/mcp"));
  expect((await readAnswer(red.call("which"))).text).toBe("red");
  const stray = red.at(await at("/deep/er/blue/mcp"));
  expect((await stray.call("which")).status).toBe(404);
  expect((await stray.delete()).status).toBe(404);
  expect((await readAnswer(red.call("which"))).text).toBe("red");
});

describe.each(["/tenants/acme/api/mcp", "/deep/er/blue/mcp", "/mounted/mcp"])("an app mounted at %s", (path) => {
  test("needs no additional routes for POST, GET, DELETE and OPTIONS", async () => {
    const url = await at(path);
    const page = { origin: new URL(url).origin, "access-control-request-headers": "mcp-session-id" };
    const preflight = await fetch(url, { method: "OPTIONS", headers: page });
    expect([preflight.status, preflight.headers.get("allow")]).toEqual([204, "POST, GET, DELETE, OPTIONS"]);
    const client = await LegacyClient.open(url);
    expect(client.sessionId).toMatch(/^[\x21-\x7e]{1,256}$/);
    const refused = await client.get();
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "POST, DELETE"]);
    expect((await client.delete()).status).toBe(204);
    expect((await client.call("which")).status).toBe(404);
  });

  test("does not affect the parent app's routes and middleware", async () => {
    expect(await text("/")).toBe("home");
    const { status, headers } = await new ModernClient(await at(path)).call("which");
    expect([status, headers.get("x-page")]).toEqual([200, "the author's own"]);
    expect((await post(`${path}/further`)).status).toBe(404);
  });
});

test("app.fetch is a plain (Request) => Response", async () => {
  const url = await at("/plain/mcp");
  for (const version of VERSIONS) {
    const answer = await readAnswer((await open(version, url)).call("work", {}, { progressToken: "t" }));
    expect(answer).toMatchObject({ status: 200, contentType: "text/event-stream" });
  }
  const preflight = await fetch(url, { method: "OPTIONS", headers: { origin: new URL(url).origin } });
  expect(preflight.status).toBe(204);
  expect((await post("/plain/other")).status).toBe(404);
});

/** The context that the tool, the resource and the prompt get. */
const contextOf = async (client: Client, team: string) => {
  const headers = { "x-team": team };
  const read = await readAnswer(client.request("resources/read", { uri: "facts://mine" }, { headers }));
  const prompt = await readAnswer(client.request("prompts/get", { name: "facts" }, { headers }));
  const [{ result }] = read.messages as [{ result: { contents: [{ text: string }] } }];
  const [{ result: asked }] = prompt.messages as [{ result: { messages: [{ content: { text: string } }] } }];
  return [result.contents[0].text, asked.messages[0].content.text].map((each) => JSON.parse(each) as unknown);
};

describe.each(VERSIONS)("a context that is made of request, bindings and principal (%s)", (version) => {
  test("reaches a tool, and a concurrent caller has its own", async () => {
    const url = await at("/facts");
    const key = newKey();
    const people = ["alice", "bob"];
    const calls = people.map(async (token, index) => {
      const client = await open(version, url, { token });
      const headers = { "x-team": `team of ${token}` };
      return (await readAnswer(client.call("facts", { key: `${key}-${index + 1}` }, { headers }))).text;
    });
    const seen = (await Promise.all(calls)).map((each) => JSON.parse(each ?? "") as unknown);
    expect(seen).toEqual(people.map((who) => ({ path: "/facts", team: `team of ${who}`, region: "west", who })));
  });

  test("is created for each request, in a resource and a prompt as well", async () => {
    const client = await open(version, await at("/facts"), { token: "carol" });
    for (const team of ["one", "two"]) {
      const expected = { path: "/facts", team, region: "west", who: "carol" };
      expect(await contextOf(client, team)).toEqual([expected, expected]);
    }
  });

  test("two concurrent calls of one principal have separate requests", async () => {
    const client = await open(version, await at("/facts"), { token: "dora" });
    const key = newKey();
    const calls = ["1", "2"].map((which) =>
      readAnswer(client.call("facts", { key: `${key}-${which}` }, { headers: { "x-team": which } })),
    );
    const seen = (await Promise.all(calls)).map((each) => JSON.parse(each.text ?? "") as unknown);
    expect(seen).toMatchObject([
      { team: "1", who: "dora" },
      { team: "2", who: "dora" },
    ]);
  });
});

describe.each(LEGACY_VERSIONS)("a server without sessions (%s)", (version) => {
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
  const opened = async () => LegacyClient.open(await at("/bare"), { version, capabilities });

  test("issues and requires no id, and declares nothing that it cannot provide", async () => {
    const client = await opened();
    expect(client.sessionId).toBeUndefined();
    expect(client.greeting).toMatchObject({ protocolVersion: version });
    expect(client.greeting.capabilities).toEqual({ tools: {}, prompts: {}, resources: {} });
    expect((await readAnswer(client.request("tools/list"))).status).toBe(200);
    for (const [method, params] of [
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "bare://a" }],
    ] as const) {
      expect((await readAnswer(client.request(method, params))).messages).toMatchObject([{ error: { code: -32601 } }]);
    }
  });

  test("returns 405 with the allowed methods for GET and DELETE", async () => {
    const client = await opened();
    for (const response of [await client.get(), await client.delete()]) {
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("streams a call's own progress, and no log messages, because no level can be set", async () => {
    const answer = await readAnswer((await opened()).call("work", {}, { progressToken: "own" }));
    expect(answer.contentType).toBe("text/event-stream");
    expect(answer.messages).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "own", progress: 1 } },
      { result: {} },
    ]);
    expect(answer.messages).toHaveLength(2);
  });

  test("refuses every question with an error that names the mode, and sends nothing", async () => {
    const answer = await readAnswer((await opened()).call("ask"));
    expect(answer).toMatchObject({ contentType: "application/json" });
    const lines = answer.text?.split("\n") ?? [];
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/^QuestionError: .*sessions/);
  });

  test("treats each POST independently: initialize is neither required nor stored", async () => {
    await opened();
    const url = await at("/bare");
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify(request("tools/call", { name: "work" }));
    expect(await readAnswer(fetch(url, { method: "POST", headers, body }))).toMatchObject({ text: "a stranger" });
    // A second initialize is served because the first one was not stored.
    expect((await opened()).greeting.protocolVersion).toBe(version);
  });
});

test("a server without sessions and notifications does not promise notifications to modern clients either", async () => {
  const client = new ModernClient(await at("/bare"));
  const { messages } = await readAnswer(client.request("server/discover"));
  const [{ result }] = messages as [{ result: { capabilities: Members } }];
  expect(result.capabilities).toEqual({ tools: {}, prompts: {}, resources: {}, logging: {} });
  const listened = await readAnswer(client.request("subscriptions/listen", { notifications: {} }));
  expect(listened).toMatchObject({ status: 404, messages: [{ error: { code: -32601 } }] });
});

test("onRootsChanged has the context of the request that reported the change", async () => {
  const client = await LegacyClient.open(await at("/facts"), {
    token: "erin",
    capabilities: { roots: { listChanged: true } },
  });
  const changed = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };
  expect((await client.send(changed, { "x-team": "blue" })).status).toBe(202);
  await expect.poll(heard).toContain("roots of erin from blue");
});

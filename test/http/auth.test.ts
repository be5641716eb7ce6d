/** Authorization: the allowed results of the `auth` hook and the `visible` option. Everything else is refused. */
import { describe, expect, test } from "vitest";
import { defineTool, type ErrorPlace, McpServer, type Principal } from "../../src/core/index.ts";
import type { AuthHook } from "../../src/http/endpoint-types.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { CONTENT, type Members, requestOf, standardHeaders } from "./messages.ts";

const ORIGIN = "https://app.example.com";
const ALICE = { issuer: "https://issuer.example", subject: "alice" };

type AnyHook = (...given: Parameters<AuthHook<unknown>>) => unknown;

/** An endpoint whose hook returns values that the types do not allow. */
function endpoint(hook: AnyHook, more: { readonly era?: "modern" | "legacy"; readonly origin?: string } = {}) {
  const { era = "modern", origin } = more;
  const calls: (Principal | undefined)[] = [];
  const reports: { readonly error: Error; readonly where: ErrorPlace }[] = [];
  const server = new McpServer({ name: "auth", version: "1.0.0" });
  server.tool("who", {}, (_, ctx) => {
    calls.push(ctx.auth);
    return `${ctx.auth?.issuer} ${ctx.auth?.subject}`;
  });
  const handle = createHttpHandler(server, {
    auth: hook as AuthHook<unknown>,
    allowedOrigins: [ORIGIN],
    onError: (error, where) => {
      reports.push({ error: error as Error, where });
    },
  });
  const send = async () => {
    const message = requestOf(era, "tools/call", { name: "who", arguments: {} });
    const headers = {
      ...CONTENT,
      ...(era === "modern" ? standardHeaders(message) : {}),
      ...(origin ? { origin } : {}),
    };
    const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(message) };
    const response = await handle(new Request("https://mcp.example.com/mcp", init), {});
    return { response, text: await response.text() };
  };
  return { send, calls, reports };
}

const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error("secret of the author");
    },
  },
);

describe.each(["modern", "legacy"] as const)("what the auth hook returns (%s)", (era) => {
  test.each<[string, () => unknown]>([
    ["undefined", () => undefined],
    ["a promise of undefined", async () => undefined],
    ["true", () => true],
    ["false", () => false],
    ["0", () => 0],
    ["1", () => 1],
    ["an empty string", () => ""],
    ["a token", () => "Bearer secret-token"],
    ["another spelling", () => "Anonymous"],
    ["a String object", () => new String("anonymous")],
    ["an empty object", () => ({})],
    ["a subject alone", () => ({ subject: "alice" })],
    ["an issuer alone", () => ({ issuer: "https://issuer.example" })],
    ["an empty issuer", () => ({ ...ALICE, issuer: "" })],
    ["an empty subject", () => ({ ...ALICE, subject: "" })],
    ["an undefined subject", () => ({ ...ALICE, subject: undefined })],
    ["a number for a subject", () => ({ ...ALICE, subject: 7 })],
    ["an object for an issuer", () => ({ ...ALICE, issuer: new URL("https://issuer.example") })],
    ["the principal in a list", () => [ALICE]],
    ["a list with the members", () => Object.assign([], ALICE)],
    ["a function with the members", () => Object.assign(() => undefined, ALICE)],
    ["a user of another shape", () => ({ user: { id: "alice" }, ok: true })],
    ["an unreadable proxy", () => unreadable],
    [
      "a getter that throws",
      () => ({
        ...ALICE,
        get claims() {
          throw new Error("secret of the author");
        },
      }),
    ],
    ["an Error", () => new Error("secret of the author")],
    ["a symbol", () => Symbol("anonymous")],
    ["a bigint", () => 1n],
    ["a Map", () => new Map(Object.entries(ALICE))],
    ["a Request", () => new Request("https://issuer.example/")],
  ])("is refused if it is %s: 500, logged with the name of the hook, and no handler runs", async (_, hook) => {
    const { send, calls, reports } = endpoint(hook, { era });
    const { response, text } = await send();
    expect(response.status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ error: { code: -32603, data: { reason: "internal" } } });
    expect(text).not.toMatch(/secret/);
    expect(calls).toEqual([]);
    expect(reports).toHaveLength(1);
    expect(reports[0]?.where.method).toBe("(auth)");
    expect(text).toContain(reports[0]?.where.correlationId);
  });

  test("is refused with 500 if the hook throws or rejects", async () => {
    for (const hook of [
      () => {
        throw new Error("secret of the author");
      },
      async () => Promise.reject(new Error("secret of the author")),
      () => {
        throw new Response("thrown", { status: 200 });
      },
      () => Promise.reject(undefined),
    ]) {
      const { send, calls, reports } = endpoint(hook, { era });
      const { response, text } = await send();
      expect([response.status, calls, reports.length]).toEqual([500, [], 1]);
      expect(text).not.toContain("secret");
    }
  });

  test("is refused with 401 if it is null, whether a promise or not", async () => {
    for (const hook of [() => null, async () => null]) {
      const { send, calls, reports } = endpoint(hook, { era });
      const { response } = await send();
      expect([response.status, calls, reports]).toEqual([401, [], []]);
      expect(response.headers.get("WWW-Authenticate")).toBe("Bearer");
    }
  });

  test('is accepted if it is a principal or the string "anonymous", whether a promise or not', async () => {
    for (const [value, principal] of [
      [ALICE, ALICE],
      ["anonymous", undefined],
    ] as const) {
      for (const hook of [() => value, async () => value]) {
        const { send, calls, reports } = endpoint(hook, { era });
        const { response } = await send();
        expect([response.status, calls, reports]).toEqual([200, [principal], []]);
      }
    }
  });

  test.each([200, 302, 401, 403, 429, 503])("is sent unchanged if it is a Response (%i)", async (status) => {
    const headers = { "WWW-Authenticate": 'Bearer error="insufficient_scope", scope="files:write"', "X-Own": "kept" };
    const { send, calls, reports } = endpoint(async () => new Response("the challenge", { status, headers }), { era });
    const { response, text } = await send();
    expect([response.status, text, calls, reports]).toEqual([status, "the challenge", [], []]);
    expect(response.headers.get("WWW-Authenticate")).toBe(headers["WWW-Authenticate"]);
    expect(response.headers.get("X-Own")).toBe("kept");
    expect(response.headers.get("Access-Control-Allow-Origin")).toBeNull();
  });

  test("can be a Response that a page of an allowed origin can read, with its headers", async () => {
    const headers = {
      Vary: "Authorization",
      "Access-Control-Allow-Origin": "https://elsewhere.example",
      "Access-Control-Expose-Headers": "X-Own",
      "X-Own": "kept",
    };
    const { send } = endpoint(() => new Response("no", { status: 403, headers }), { era, origin: ORIGIN });
    const { response, text } = await send();
    expect([response.status, text]).toEqual([403, "no"]);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(response.headers.get("Access-Control-Expose-Headers")).toContain("WWW-Authenticate");
    expect(response.headers.get("Access-Control-Expose-Headers")).toContain("X-Own");
    expect(response.headers.get("Vary")).toMatch(/Authorization/);
    expect(response.headers.get("Vary")).toMatch(/Origin/);
  });
});

describe("the principal", () => {
  test("keeps its additional members", async () => {
    const principal = { ...ALICE, scopes: ["read"], claims: { team: "red" }, extra: 7 };
    const { send, calls } = endpoint(() => principal);
    await send();
    expect(calls).toEqual([principal]);
  });

  test("is read only once: later values of its getters are ignored", async () => {
    let reads = 0;
    const shifty = {
      get issuer() {
        return "https://issuer.example";
      },
      get subject() {
        reads += 1;
        return reads === 1 ? "alice" : "root";
      },
    };
    const { send, calls } = endpoint(() => shifty);
    expect((await send()).text).toContain("https://issuer.example alice");
    expect(calls.map((principal) => [principal?.subject, principal?.subject])).toEqual([["alice", "alice"]]);
  });

  test("can be an instance of a class with getters", async () => {
    class User {
      get issuer() {
        return "https://issuer.example";
      }
      get subject() {
        return "alice";
      }
    }
    const { send, calls } = endpoint(() => new User());
    await send();
    expect(calls).toEqual([ALICE]);
  });

  test("cannot be changed later by the code that created it", async () => {
    const kept: Members & { subject: string } = { ...ALICE };
    const { send, calls } = endpoint(() => kept);
    await send();
    kept.subject = "root";
    expect(calls).toEqual([ALICE]);
  });

  test("is reported with the error and the expected result if it is invalid, but without its members' values", async () => {
    const { send, reports } = endpoint(async function verify() {
      return { token: "secret", issuer: "https://issuer.example" };
    });
    await send();
    const { message } = reports[0]?.error ?? {};
    for (const part of ["auth", "verify", "subject", '"anonymous"', "null", "Response"])
      expect(message).toContain(part);
    expect(message).not.toContain("secret");
  });
});

test.each([null, false, 0, "", "hook", {}, true])("an auth option that is not a function (%j) is refused", (auth) => {
  const server = new McpServer({ name: "auth", version: "1.0.0" });
  const make = () => createHttpHandler(server, { auth: auth as never, onError: () => undefined });
  expect(make).toThrow(/auth/);
});

describe.each(["modern", "legacy"] as const)("the result of the option visible (%s)", (era) => {
  function serve(visible: () => unknown) {
    const reports: string[] = [];
    const own = defineTool("own", {}, () => "served");
    const server = new McpServer({
      name: "visible",
      version: "1.0.0",
      visible: visible as () => boolean,
      definitions: () => [own],
      onError: (error, { method }) => void reports.push(`${method} ${error}`),
    });
    server.tool("fixed", {}, () => "served");
    server.resource("test://fixed", {}, () => "served");
    const handle = createHttpHandler(server, { onError: () => undefined });
    const ask = async (method: string, params: Members) => {
      const message = requestOf(era, method, params);
      const headers = { ...CONTENT, ...(era === "modern" ? standardHeaders(message) : {}) } as Record<string, string>;
      const init = { method: "POST", headers, body: JSON.stringify(message) };
      const response = await handle(new Request("https://mcp.example.com/mcp", init), {});
      return { status: response.status, text: await response.text() };
    };
    return { ask, reports };
  }

  test.each<[string, () => unknown]>([
    ["a promise of true", async () => true],
    ["a promise that rejects", async () => Promise.reject(new Error("not handled"))],
    ["undefined", () => undefined],
    ["null", () => null],
    ["1", () => 1],
    ["a text", () => "yes"],
    ["an object", () => ({ visible: true })],
    ["a Boolean object", () => new Boolean(true)],
  ])("hides every definition if it is %s, and is reported once", async (_, visible) => {
    const { ask, reports } = serve(visible);
    for (let round = 0; round < 2; round += 1) {
      expect((await ask("tools/list", {})).text).not.toMatch(/fixed|own/);
      expect((await ask("tools/call", { name: "fixed", arguments: {} })).text).not.toContain("served");
      expect((await ask("tools/call", { name: "own", arguments: {} })).text).not.toContain("served");
      expect((await ask("resources/read", { uri: "test://fixed" })).text).not.toContain("served");
    }
    expect(reports).toEqual([expect.stringMatching(/^\(visible\) .*visible returned .*Return true or false/)]);
  });

  test("shows a definition if it is true, and hides it without a report if it is false", async () => {
    const shown = serve(() => true);
    expect((await shown.ask("tools/call", { name: "fixed", arguments: {} })).text).toContain("served");
    const hidden = serve(() => false);
    expect((await hidden.ask("tools/call", { name: "fixed", arguments: {} })).text).not.toContain("served");
    expect([shown.reports, hidden.reports]).toEqual([[], []]);
  });

  test("causes 500 if the option throws", async () => {
    const { ask, reports } = serve(() => {
      throw new Error("secret of the author");
    });
    const { status, text } = await ask("tools/list", {});
    expect([status, reports.length]).toEqual([500, 1]);
    expect(text).not.toContain("secret");
  });
});

test("inherited hooks in a server's options also apply if each caller has its own view", async () => {
  class Options {
    readonly name = "inherited";
    readonly version = "1.0.0";
    get around() {
      return [() => Promise.reject(new Error("refused by around"))];
    }
    visible() {
      return true;
    }
  }
  const server = new McpServer(new Options());
  server.tool("fixed", {}, () => "served");
  const reports: unknown[] = [];
  const handle = createHttpHandler(server, { onError: (error) => void reports.push(String(error)) });
  const message = requestOf("modern", "tools/call", { name: "fixed", arguments: {} });
  const headers = { ...CONTENT, ...standardHeaders(message) } as Record<string, string>;
  const init = { method: "POST", headers, body: JSON.stringify(message) };
  const response = await handle(new Request("https://mcp.example.com/mcp", init), {});
  expect(await response.text()).not.toContain("served");
  expect(reports).toEqual(["Error: refused by around"]);
});

test.each([null, false, 0, "", {}, true])("a visible option that is not a function (%j) is refused", (visible) => {
  const make = () => new McpServer({ name: "visible", version: "1.0.0", visible: visible as never });
  expect(make).toThrow(/visible .*must be a function/);
});

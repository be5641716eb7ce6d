/** Origin and Host. */
import { describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { CONTENT, type Era, type Headers, isMembers, NEWEST_LEGACY, post, request } from "../http/messages.ts";
import type { Answer, Ask } from "../http/wire.ts";
import { type Endpoint, newKey, Session, useLab } from "./support.ts";

expectLogs(/^mcp-edge: everyone may call\./);

const lab = useLab();

const ERAS: readonly Era[] = ["legacy", "modern"];

/** A valid request apart from the given headers. Legacy: an initialize, which needs no session. */
function right(era: Era, headers: Headers = {}): Ask {
  if (era === "modern") return post("modern", { headers });
  const clientInfo = { name: "conformance", version: "1.0.0" };
  const message = request("initialize", { protocolVersion: NEWEST_LEGACY, capabilities: {}, clientInfo }, newKey());
  return { method: "POST", headers: { ...CONTENT, ...headers }, body: JSON.stringify(message) };
}

function expectRefused(answer: Answer): void {
  expect([answer.status, answer.text]).toEqual([403, expect.any(String)]);
  // The body MAY be a JSON-RPC error response that has no id.
  for (const message of answer.messages) {
    expect(message).toMatchObject({ jsonrpc: "2.0", error: { code: -32600 } });
    expect(message).not.toHaveProperty("id");
  }
  expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  expect(answer.headers).not.toHaveProperty("mcp-session-id");
}

function expectServed(answer: Answer): void {
  const [message] = answer.messages;
  expect([answer.status, isMembers(message) && "result" in message]).toEqual([200, true]);
}

async function refused(ask: Ask, endpoint?: Endpoint): Promise<void> {
  expectRefused(await lab.send(ask, endpoint));
}

async function served(ask: Ask, endpoint?: Endpoint): Promise<void> {
  expectServed(await lab.send(ask, endpoint));
}

describe.each(ERAS)("Origin alone (%s)", (era) => {
  test.each([
    "https://evil.example",
    "http://evil.example",
    "http://evil.example:80",
    "null",
    "evil.example",
    "*",
    "file://",
    "chrome-extension://abcdefgh",
    "javascript:alert(1)",
  ])("Origin alone: %j is 403", async (origin) => {
    await refused(right(era, { origin }));
  });

  test("null is 403 even on a local server, in any case", async () => {
    for (const origin of ["null", "NULL", "Null"]) await refused(right(era, { origin }));
  });

  test("absent Origin is allowed", async () => {
    await served(right(era));
    await served(right(era), "listed");
  });

  test("own origin is allowed and gets CORS headers", async () => {
    const { origin } = lab.worker;
    const answer = await lab.send(right(era, { origin }));
    expectServed(answer);
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
    expect(answer.headers.vary).toMatch(/\borigin\b/i);
  });

  test("two Origin headers are 403, even if one of them is allowed", async () => {
    await refused(right(era, { origin: [lab.worker.origin, "https://evil.example"] }));
    await refused(right(era, { origin: ["https://evil.example", lab.worker.origin] }));
  });

  test.each([
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://evil-localhost",
    "http://localhostevil.example",
    "http://xlocalhost",
    "http://evil.example#localhost",
    "http://evil.example?localhost",
    "http://evil.example/127.0.0.1",
    "http://localhost@evil.example",
    "http://localhost:3000@evil.example",
    "http://127.0.0.1%2eevil.example",
    "http://[::1].evil.example",
    "http://[::ffff:8.8.8.8]",
    "http://128.0.0.1",
  ])("sub-domain tricks: %s is 403", async (origin) => {
    await refused(right(era, { origin }));
  });

  test.each(["http://localhost:6274", "http://127.0.0.1:1", "http://[::1]:6274", "https://localhost"])(
    "IPv6 and other loopback pages may call a loopback server: %s",
    async (origin) => {
      await served(right(era, { origin }));
    },
  );

  test.each(["http://[::2]:6274", "http://[2001:db8::1]", "http://[fe80::1]", "http://[::1", "http://::1:6274"])(
    "IPv6 that is not loopback, or not an address: %s is 403",
    async (origin) => {
      await refused(right(era, { origin }));
    },
  );
});

describe.each(ERAS)("allow-list (%s)", (era) => {
  test("allow-list: a listed origin is allowed, whatever the case of scheme and host", async () => {
    for (const origin of ["https://app.example.com", "HTTPS://App.Example.COM", "https://app.example.com:443"]) {
      await served(right(era, { origin }), "listed");
    }
  });

  test.each([
    ["another scheme", "http://app.example.com"],
    ["another port", "https://app.example.com:8443"],
    ["a sub-domain", "https://x.app.example.com"],
    ["the parent domain", "https://example.com"],
    ["a sibling", "https://app2.example.com"],
    ["a longer domain", "https://app.example.com.evil.example"],
    ["a longer label", "https://evilapp.example.com"],
    ["the final dot", "https://app.example.com."],
    ["a user", "https://app.example.com@evil.example"],
    ["the host without a scheme", "app.example.com"],
    ["null", "null"],
    ["a list", "https://app.example.com, https://evil.example"],
  ])("scheme or port differences and others: %s is 403", async (_, origin) => {
    await refused(right(era, { origin }), "listed");
  });

  test("allow-list: a loopback page may not call a public host", async () => {
    await refused(right(era, { host: "mcp.example.com", origin: "http://localhost:3000" }), "listed");
    await refused(right(era, { host: "mcp.example.com", origin: "null" }), "listed");
    await served(right(era, { host: "mcp.example.com", origin: "https://app.example.com" }), "listed");
  });
});

describe.each(ERAS)("Host alone (%s)", (era) => {
  test.each([
    "evil.example",
    "evil.example:80",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil-localhost",
    "10.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "0.0.0.0",
    "[2001:db8::1]",
    "mcp.example.com",
  ])("Host alone: %s is 403 if a browser may have sent the request", async (host) => {
    await refused(right(era, { host, origin: `http://${host}` }));
    const headers = { host, accept: "text/event-stream" };
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      expect([method, (await lab.send({ method, headers })).status]).toEqual([method, 403]);
    }
  });

  test("a POST without Origin does not come from a browser, so it is served whatever its Host", async () => {
    for (const host of ["mcp.example.com", "evil.example:80", "10.0.0.1", "[2001:db8::1]"]) {
      await served(right(era, { host }));
    }
    await refused(right(era, { host: "evil.example", origin: "null" }));
  });

  test("Host alone: loopback names are allowed, in any case, with and without a port", async () => {
    const { port } = new URL(lab.worker.origin);
    for (const host of ["localhost", `localhost:${port}`, "LOCALHOST", "127.0.0.1", `[::1]:${port}`, "[::1]"]) {
      await served(right(era, { host }));
    }
  });

  test("Host alone: an allow-list allows the listed hosts, not their sub-domains or relatives", async () => {
    for (const host of ["mcp.example.com", "MCP.Example.com", "mcp.example.com:8080"]) {
      await served(right(era, { host }), "listed");
    }
    for (const host of ["x.mcp.example.com", "example.com", "mcp.example.com.evil.example", "evilmcp.example.com"]) {
      await refused(right(era, { host, origin: "https://app.example.com" }), "listed");
    }
  });

  test("Host and Origin of one malicious page, as DNS rebinding sends them, are 403", async () => {
    const host = `evil.example:${new URL(lab.worker.origin).port}`;
    await refused(right(era, { host, origin: `http://${host}` }));
  });

  test("Host and Origin: forwarding headers do not make a page allowed", async () => {
    const forwarded = { "x-forwarded-host": "localhost", "x-forwarded-for": "127.0.0.1", forwarded: "host=localhost" };
    await refused(right(era, { host: "evil.example", origin: "http://evil.example", ...forwarded }));
    const get = { host: "evil.example", accept: "text/event-stream", ...forwarded };
    expect((await lab.send({ method: "GET", headers: get })).status).toBe(403);
    await refused(right(era, { origin: "https://evil.example", ...forwarded }));
    const rebound = { host: "evil.example", origin: "http://evil.example", "x-forwarded-proto": "https" };
    await refused(right(era, rebound));
  });
});

describe("other methods", () => {
  test.each(["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"])(
    "%s with an invalid Origin is 403",
    async (method) => {
      const headers = { origin: "https://evil.example", accept: "text/event-stream" };
      const answer = await lab.send({ method, headers });
      expect(answer.status).toBe(403);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
      expect((await lab.send({ method, headers: { ...headers, origin: "null" } })).status).toBe(403);
    },
  );

  test("DELETE without Origin does not come from a browser: its Host is not checked, its session is", async () => {
    const session = await Session.open(`${lab.worker.origin}/mcp`);
    const remove = async (id: string, more: Headers = {}) => {
      const headers = { host: "mcp.example.com", "mcp-session-id": id, ...more };
      return (await lab.send({ method: "DELETE", headers })).status;
    };
    expect(await remove(session.id, { origin: "http://mcp.example.com" })).toBe(403);
    expect(await remove("garbage")).toBe(404);
    expect(await remove(session.id)).toBe(204);
  });

  test.each(["GET", "OPTIONS", "HEAD"])("%s to an invalid Host is 403", async (method) => {
    const answer = await lab.send({ method, headers: { host: "evil.example", accept: "text/event-stream" } });
    expect(answer.status).toBe(403);
  });

  test("GET and DELETE of a live session with an invalid Origin are 403 and have no effect", async () => {
    const session = await Session.open(`${lab.worker.origin}/mcp`);
    const headers = { "mcp-session-id": session.id, origin: "https://evil.example", accept: "text/event-stream" };
    expect((await lab.send({ method: "GET", headers })).status).toBe(403);
    expect((await lab.send({ method: "DELETE", headers })).status).toBe(403);
    expect((await session.request("ping")).status).toBe(200);
    const local = await session.get(undefined, { origin: "http://localhost:6274" });
    expect(local.status).toBe(200);
    local.cut();
  });

  test("OPTIONS of an allowed page lists what it may send; of another page, nothing", async () => {
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "mcp-method" };
    const good = await lab.send(
      { method: "OPTIONS", headers: { ...asked, origin: "https://app.example.com" } },
      "listed",
    );
    expect([200, 204]).toContain(good.status);
    expect(good.headers["access-control-allow-origin"]).toBe("https://app.example.com");
    expect(good.headers["access-control-allow-headers"]).toMatch(/\bmcp-method\b/i);
    const bad = await lab.send({ method: "OPTIONS", headers: { ...asked, origin: "https://evil.example" } }, "listed");
    expect(bad.status).toBe(403);
    expect(Object.keys(bad.headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });

  test("an invalid Origin is 403 before anything else of the request is checked", async () => {
    const origin = "https://evil.example";
    for (const ask of [
      { method: "POST", headers: { origin, "content-type": "text/plain" }, body: "not JSON" },
      { method: "POST", headers: { ...CONTENT, origin, "mcp-session-id": "garbage" }, body: "[]" },
      { method: "POST", headers: { ...CONTENT, origin, authorization: "Bearer stolen" }, body: "{}" },
    ]) {
      expect((await lab.send(ask)).status).toBe(403);
    }
  });
});

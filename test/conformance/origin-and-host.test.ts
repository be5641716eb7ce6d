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

describe.each(ERAS)("the header Origin (%s)", (era) => {
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
  ])("is refused with 403 if it is %j", async (origin) => {
    await refused(right(era, { origin }));
  });

  test("is refused with 403 if it is null, even on a local server and in any case", async () => {
    for (const origin of ["null", "NULL", "Null"]) await refused(right(era, { origin }));
  });

  test("may be absent", async () => {
    await served(right(era));
    await served(right(era), "listed");
  });

  test("is allowed if it is the server's own, with CORS headers", async () => {
    const { origin } = lab.worker;
    const answer = await lab.send(right(era, { origin }));
    expectServed(answer);
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
    expect(answer.headers.vary).toMatch(/\borigin\b/i);
  });

  test("is refused with 403 if it is sent twice, even if one of the two is allowed", async () => {
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
  ])("is refused with 403 if it only looks like a loopback address: %s", async (origin) => {
    await refused(right(era, { origin }));
  });

  test.each(["http://localhost:6274", "http://127.0.0.1:1", "http://[::1]:6274", "https://localhost"])(
    "is allowed on a loopback server if it is a loopback page: %s",
    async (origin) => {
      await served(right(era, { origin }));
    },
  );

  test.each(["http://[::2]:6274", "http://[2001:db8::1]", "http://[fe80::1]", "http://[::1", "http://::1:6274"])(
    "is refused with 403 if it is an IPv6 address that is not loopback or not valid: %s",
    async (origin) => {
      await refused(right(era, { origin }));
    },
  );
});

describe.each(ERAS)("an allow-list of origins (%s)", (era) => {
  test("allows a listed origin, whatever the case of scheme and host", async () => {
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
  ])("refuses an origin that differs in %s with 403", async (_, origin) => {
    await refused(right(era, { origin }), "listed");
  });

  test("does not allow a loopback page to call a public host", async () => {
    await refused(right(era, { host: "mcp.example.com", origin: "http://localhost:3000" }), "listed");
    await refused(right(era, { host: "mcp.example.com", origin: "null" }), "listed");
    await served(right(era, { host: "mcp.example.com", origin: "https://app.example.com" }), "listed");
  });
});

describe.each(ERAS)("the header Host (%s)", (era) => {
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
  ])("is refused with 403 if it is %s and a browser may have sent the request", async (host) => {
    await refused(right(era, { host, origin: `http://${host}` }));
    const headers = { host, accept: "text/event-stream" };
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      expect([method, (await lab.send({ method, headers })).status]).toEqual([method, 403]);
    }
  });

  test("is not checked on a POST without Origin, which does not come from a browser", async () => {
    for (const host of ["mcp.example.com", "evil.example:80", "10.0.0.1", "[2001:db8::1]"]) {
      await served(right(era, { host }));
    }
    await refused(right(era, { host: "evil.example", origin: "null" }));
  });

  test("is allowed if it is a loopback name, in any case, with and without a port", async () => {
    const { port } = new URL(lab.worker.origin);
    for (const host of ["localhost", `localhost:${port}`, "LOCALHOST", "127.0.0.1", `[::1]:${port}`, "[::1]"]) {
      await served(right(era, { host }));
    }
  });

  test("is allowed if the allow-list has this host, but not if it is a sub-domain or a similar name", async () => {
    for (const host of ["mcp.example.com", "MCP.Example.com", "mcp.example.com:8080"]) {
      await served(right(era, { host }), "listed");
    }
    for (const host of ["x.mcp.example.com", "example.com", "mcp.example.com.evil.example", "evilmcp.example.com"]) {
      await refused(right(era, { host, origin: "https://app.example.com" }), "listed");
    }
  });

  test("is refused with 403 if it is a malicious page's, like its Origin, as DNS rebinding sends them", async () => {
    const host = `evil.example:${new URL(lab.worker.origin).port}`;
    await refused(right(era, { host, origin: `http://${host}` }));
  });

  test("is not replaced by forwarding headers, and neither is Origin", async () => {
    const forwarded = { "x-forwarded-host": "localhost", "x-forwarded-for": "127.0.0.1", forwarded: "host=localhost" };
    await refused(right(era, { host: "evil.example", origin: "http://evil.example", ...forwarded }));
    const get = { host: "evil.example", accept: "text/event-stream", ...forwarded };
    expect((await lab.send({ method: "GET", headers: get })).status).toBe(403);
    await refused(right(era, { origin: "https://evil.example", ...forwarded }));
    const rebound = { host: "evil.example", origin: "http://evil.example", "x-forwarded-proto": "https" };
    await refused(right(era, rebound));
  });
});

describe("methods other than POST", () => {
  test.each(["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH"])(
    "return 403 for an invalid Origin: %s",
    async (method) => {
      const headers = { origin: "https://evil.example", accept: "text/event-stream" };
      const answer = await lab.send({ method, headers });
      expect(answer.status).toBe(403);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
      expect((await lab.send({ method, headers: { ...headers, origin: "null" } })).status).toBe(403);
    },
  );

  test("need no Origin: DELETE without it does not come from a browser, and only its session is checked", async () => {
    const session = await Session.open(`${lab.worker.origin}/mcp`);
    const remove = async (id: string, more: Headers = {}) => {
      const headers = { host: "mcp.example.com", "mcp-session-id": id, ...more };
      return (await lab.send({ method: "DELETE", headers })).status;
    };
    expect(await remove(session.id, { origin: "http://mcp.example.com" })).toBe(403);
    expect(await remove("garbage")).toBe(404);
    expect(await remove(session.id)).toBe(204);
  });

  test.each(["GET", "OPTIONS", "HEAD"])("return 403 for an invalid Host: %s", async (method) => {
    const answer = await lab.send({ method, headers: { host: "evil.example", accept: "text/event-stream" } });
    expect(answer.status).toBe(403);
  });

  test("return 403 for a live session with an invalid Origin, without side effects", async () => {
    const session = await Session.open(`${lab.worker.origin}/mcp`);
    const headers = { "mcp-session-id": session.id, origin: "https://evil.example", accept: "text/event-stream" };
    expect((await lab.send({ method: "GET", headers })).status).toBe(403);
    expect((await lab.send({ method: "DELETE", headers })).status).toBe(403);
    expect((await session.request("ping")).status).toBe(200);
    const local = await session.get(undefined, { origin: "http://localhost:6274" });
    expect(local.status).toBe(200);
    local.cut();
  });

  test("list in OPTIONS what an allowed page may send, and nothing for another page", async () => {
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

  test("return 403 for an invalid Origin before anything else of the request is checked", async () => {
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

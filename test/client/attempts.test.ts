/** What an error says about earlier attempts, and the keys with which a payment runs once. */
import { describe, expect, test } from "vitest";
import { ClientError } from "../../src/client/index.ts";
import { oauth } from "../../src/client/oauth/index.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { DONE, discovered, error, initialized, result, scripted } from "./scripted.ts";

const join = useClients();
const IDEMPOTENT = { name: "pay", inputSchema: { type: "object" }, annotations: { idempotentHint: true } } as const;
const KEYS = { tools: {}, experimental: { "mcp-edge/idempotencyKey": {} } };

describe("a call that ran before its connection broke", () => {
  test.each([
    ["gets 404", 404],
    ["gets 429", 429],
    ["gets 401", 401],
    ["gets 405", 405],
  ])("is reported as a call that may have run if its repetition %s", async (_, status) => {
    let runs = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      runs += 1;
      if (runs === 1) return response.destroy();
      return response.writeHead(status).end();
    });
    const { client } = await join(server.url);
    await expect(client.callTool(IDEMPOTENT)).rejects.toMatchObject({ code: "http-status", mayHaveRun: true });
    expect(runs).toBe(2);
  });

  test("is reported as a call that may have run if its repetition is refused by the system", {
    tags: "long",
  }, async () => {
    let runs = 0;
    let calls = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      runs += 1;
      return response.destroy();
    });
    const refused = Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    });
    const { client } = await join(server.url, {
      fetch: (url, init) => {
        calls += 1;
        return calls <= 2 ? fetch(url, init) : Promise.reject(refused);
      },
    });
    await expect(client.callTool(IDEMPOTENT)).rejects.toMatchObject({ code: "unreachable", mayHaveRun: true });
    expect(runs).toBe(1);
  });

  test("is reported as a call that may have run if its repetition finds that the session is gone", async () => {
    let runs = 0;
    await using server = await scripted(({ method, message }, response) => {
      if (message?.method === "initialize") {
        return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s" });
      }
      if (message?.method !== "tools/call") return response.writeHead(method === "GET" ? 405 : 202).end();
      runs += 1;
      return runs === 1 ? response.destroy() : response.writeHead(404).end();
    });
    const { client } = await join(server.url, { protocolVersions: ["2025-11-25"] });
    await expect(client.callTool(IDEMPOTENT)).rejects.toMatchObject({ code: "session-lost", mayHaveRun: true });
  });

  test("is reported as a call that may have run if its repetition cannot be authorized, with the class of its error", async () => {
    let runs = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      runs += 1;
      return runs === 1 ? response.destroy() : response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    const redirect = { url: "http://127.0.0.1:1/", open: () => Promise.reject(new Error("no")) };
    const { client } = await join(server.url, { auth: oauth({ redirect }) });
    const failure = await client.callTool(IDEMPOTENT).catch((each: unknown) => each);
    expect(failure).toBeInstanceOf(ClientError);
    expect(failure).toMatchObject({ code: "sign-in-failed", name: "OAuthError", mayHaveRun: true });
  });

  test("does not change an error that other requests share if its repetition fails with it", async () => {
    let runs = 0;
    let refusals = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      if (message?.method === "tools/call") {
        runs += 1;
        if (runs === 1) return response.destroy();
        refusals += 1;
      }
      return response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    let opened = false;
    const open = async () => {
      opened = true;
      // Both calls wait for this one sign-in.
      await until("the other call is refused, too", () => refusals === 2);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      throw new Error("no");
    };
    const { client } = await join(server.url, { auth: oauth({ redirect: { url: "http://127.0.0.1:1/", open } }) });
    const repeated = client.callTool(IDEMPOTENT).catch((each: unknown) => each);
    await until("the user is asked to sign in", () => opened);
    const other = client.callTool("other").catch((each: unknown) => each);
    expect(await repeated).toMatchObject({ code: "sign-in-failed", mayHaveRun: true });
    expect(await other).toMatchObject({ code: "sign-in-failed", mayHaveRun: false });
  });

  test("is reported as a call that may have run if its repetition cannot be sent because the client was closed", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return response.destroy();
    });
    const { client } = await join(server.url, {
      onEvent: ({ type }) => void (type === "request-repeated" && client.close()),
    });
    await expect(client.callTool(IDEMPOTENT)).rejects.toMatchObject({ code: "closed", mayHaveRun: true });
  });
});

test("a call that was never received is reported as a call that has not run, however many times it was tried", async () => {
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    return response.writeHead(429).end();
  });
  const { client } = await join(server.url);
  await expect(client.callTool("pay")).rejects.toMatchObject({ code: "http-status", mayHaveRun: false });
});

test("a call that got a question before it failed is reported as a call that may have run", async () => {
  let rounds = 0;
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    rounds += 1;
    if (rounds > 1) return response.writeHead(429).end();
    return result(response, message?.id, {
      resultType: "input_required",
      inputRequests: { a: { method: "roots/list" } },
    });
  });
  const { client } = await join(server.url, { roots: [] });
  await expect(client.callTool("pay")).rejects.toMatchObject({ code: "http-status", mayHaveRun: true });
});

describe("the idempotency key of a caller", () => {
  test("is sent with the call, and again with the same call after a failure", async () => {
    const keys: unknown[] = [];
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered(["2026-07-28"], KEYS));
      const meta = message?.params?._meta as Record<string, unknown>;
      keys.push(meta["mcp-edge/idempotencyKey"]);
      return keys.length === 1 ? response.destroy() : result(response, message?.id, DONE);
    });
    const { client } = await join(server.url);
    const options = { idempotencyKey: "order-17-5f2c" };
    expect(await client.callTool("pay", { amount: 1 }, options)).toEqual(DONE);
    expect(await client.callTool("pay", { amount: 1 }, options)).toEqual(DONE);
    expect(keys).toEqual(Array(3).fill("order-17-5f2c"));
  });

  test("does not make the client repeat a call at a server without support for keys", async () => {
    let runs = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      runs += 1;
      return response.destroy();
    });
    const { client } = await join(server.url);
    const call = client.callTool("pay", {}, { idempotencyKey: "order-17-5f2c" });
    await expect(call).rejects.toMatchObject({ mayHaveRun: true });
    expect(runs).toBe(1);
  });
});

describe("a server that is replaced by a server of the other era while a client is connected", () => {
  test("is detected, and a refused call is sent again in its era: first legacy, then modern", async () => {
    let isModern = false;
    const versions: unknown[] = [];
    await using server = await scripted(({ message, headers, method }, response) => {
      if (method !== "POST") return response.writeHead(405).end();
      if (message?.id === undefined) return response.writeHead(202).end();
      const isModernRequest = headers["mcp-protocol-version"] === "2026-07-28";
      if (isModern && !isModernRequest) {
        return error(response, 400, message.id, -32022, {
          supported: ["2026-07-28"],
          requested: headers["mcp-protocol-version"] ?? "x",
        });
      }
      if (message.method === "server/discover") {
        return isModern ? result(response, message.id, discovered()) : error(response, 400, message.id, -32601);
      }
      if (message.method === "initialize") {
        const initialized = {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" },
        };
        return result(response, message.id, initialized);
      }
      versions.push(headers["mcp-protocol-version"]);
      return result(response, message.id, isModern ? DONE : { content: [] });
    }, /error code -320(22|00) is not defined/);
    const { client } = await join(server.url);
    await client.callTool("a");
    isModern = true;
    expect(await client.callTool("a")).toEqual(DONE);
    expect(await client.callTool("a")).toEqual(DONE);
    expect(client.server.protocolVersion).toBe("2026-07-28");
    expect(versions).toEqual(["2025-11-25", "2026-07-28", "2026-07-28"]);
  });

  test("is detected, and a refused call is sent again in its era: first modern, then legacy", async () => {
    let isModern = true;
    const versions: unknown[] = [];
    await using server = await scripted(({ message, headers, method }, response) => {
      if (method !== "POST") return response.writeHead(405).end();
      if (message?.id === undefined) return response.writeHead(202).end();
      if (message.method === "initialize") {
        const initialized = {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" },
        };
        return result(response, message.id, initialized);
      }
      if (message.method === "server/discover" && isModern) return result(response, message.id, discovered());
      if (!isModern && headers["mcp-protocol-version"] === "2026-07-28") {
        return error(response, 400, message.id, -32000);
      }
      versions.push(headers["mcp-protocol-version"]);
      return result(response, message.id, isModern ? DONE : { content: [] });
    }, /error code -320(22|00) is not defined/);
    const { client } = await join(server.url);
    await client.callTool("a");
    isModern = false;
    expect(await client.callTool("a")).toEqual({ content: [] });
    expect(client.server.protocolVersion).toBe("2025-06-18");
    expect(versions).toEqual(["2026-07-28", "2025-06-18"]);
  });

  test("is detected once for all refused requests, and each of them is sent again", async () => {
    let isModern = false;
    await using server = await scripted(({ message, headers, method }, response) => {
      if (method !== "POST") return response.writeHead(405).end();
      if (message?.id === undefined) return response.writeHead(202).end();
      const requested = headers["mcp-protocol-version"];
      if (isModern && requested !== "2026-07-28") {
        return error(response, 400, message.id, -32022, { supported: ["2026-07-28"], requested: requested ?? "x" });
      }
      if (message.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
      if (message.method === "server/discover") {
        return isModern ? result(response, message.id, discovered()) : error(response, 400, message.id, -32601);
      }
      return result(response, message.id, isModern ? DONE : { content: [] });
    }, /error code -320(22|00) is not defined/);
    const { client } = await join(server.url);
    isModern = true;
    const calls = ["a", "b", "c", "d"].map((name) => client.callTool(name));
    expect(await Promise.all(calls)).toEqual([DONE, DONE, DONE, DONE]);
    expect(server.asked.filter((each) => each.endsWith("server/discover"))).toHaveLength(2);
    expect(server.asked.filter((each) => each.endsWith("tools/call"))).toHaveLength(8);
  });

  test("is looked for only once if ordinary errors repeat", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return error(response, 400, message?.id, -32000);
    }, /error code -32000 is not defined/);
    const { client } = await join(server.url);
    for (let count = 0; count < 5; count += 1) {
      await expect(client.callTool("a")).rejects.toMatchObject({ code: -32000 });
    }
    expect(server.asked.filter((each) => each.endsWith("server/discover"))).toHaveLength(2);
    expect(server.asked.filter((each) => each.endsWith("tools/call"))).toHaveLength(5);
  });
});

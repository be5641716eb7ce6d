/** Handlers of custom notifications: their context, the hooks around them, and what they throw. */
import { afterEach, describe, expect, test } from "vitest";
import {
  type AroundHook,
  type ErrorContext,
  type ErrorReporter,
  McpError,
  McpServer,
  type RequestEnd,
  type WithContext,
} from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "hooks", version: "1.0.0" };

describe.each(ALL_VERSIONS)("custom notifications in %s", (version) => {
  interface Env {
    readonly region: string;
  }
  type Bindings = WithContext<Env, string>;
  const NAME = "notifications/example.com/tick";

  test("a handler gets the context, the bindings, the client and the _meta", async () => {
    const heard: unknown[] = [];
    const server = new McpServer<Bindings>({ ...IDENTITY, context: (_, env) => `in ${env.region}` });
    server.notification(NAME, ({ count }, ctx) => {
      const { context, env, auth, client, meta, signal } = ctx;
      heard.push([count, context, env.region, auth, client.name, client.protocolVersion, meta.mine, signal.aborted]);
    });
    const peer = await openPeer(server, version, { env: { region: "north" } as Bindings });
    peer.notify(NAME, { count: 1, _meta: { mine: "kept" } });
    // A modern notification does not identify its sender.
    const name = version === MODERN_VERSION ? undefined : "peer";
    await expect.poll(() => heard).toEqual([[1, "in north", "north", undefined, name, version, "kept", false]]);
  });

  test("around hooks wrap a handler, see its params, and can prevent its call", async () => {
    const seen: unknown[] = [];
    const around: AroundHook[] = [
      async (data, next) => {
        if (data.method !== NAME) return next();
        seen.push(["before", data.requestId, data.params, data.client.protocolVersion]);
        if (data.params?.count === 2) throw new McpError(4003, "not this one");
        const result = await next();
        seen.push(["after", result]);
        return result;
      },
    ];
    const reports: unknown[] = [];
    const onError: ErrorReporter = (error, where) => void reports.push([String(error), where.method, where.params]);
    const ends: unknown[] = [];
    const onRequestEnd = ({ method }: RequestEnd) => void ends.push(method);
    const server = new McpServer({ ...IDENTITY, around, onError, onRequestEnd });
    server.notification(NAME, ({ count }) => void seen.push(["handler", count]));
    const peer = await openPeer(server, version);
    peer.notify(NAME, { count: 1 });
    await expect.poll(() => seen).toHaveLength(3);
    expect(seen).toEqual([
      ["before", undefined, { count: 1 }, version],
      ["handler", 1],
      ["after", {}],
    ]);
    peer.notify(NAME, { count: 2 });
    await expect.poll(() => reports).toEqual([["McpError: not this one", NAME, { count: 2 }]]);
    expect(seen).toHaveLength(4);
    expect(ends).not.toContain(NAME);
  });

  test("without params gives hooks and reports no params, and the handler an empty object", async () => {
    const seen: unknown[] = [];
    const around: AroundHook[] = [
      (data, next) => {
        if (data.method === NAME) seen.push("params" in data, data.params?._meta);
        return next();
      },
    ];
    const onError: ErrorReporter = (_, where) => void seen.push(where.params);
    const server = new McpServer({ ...IDENTITY, around, onError });
    server.notification(NAME, (params) => {
      seen.push(params);
      throw new Error("broken");
    });
    const peer = await openPeer(server, version);
    peer.notify(NAME);
    await expect.poll(() => seen).toEqual([true, undefined, {}, undefined]);
  });

  test("an exception of a handler or of the context goes to onError with the notification", async () => {
    const reports: ErrorContext[] = [];
    const onError: ErrorReporter = (_, where) => void reports.push(where);
    let isFailing = true;
    const context = () => {
      if (isFailing) throw new Error("no context");
      return undefined;
    };
    const server = new McpServer({ ...IDENTITY, onError, context });
    let heard = 0;
    server.notification(NAME, async () => {
      heard += 1;
      throw new Error("no handler");
    });
    const peer = await openPeer(server, version);
    reports.length = 0;
    peer.notify(NAME, { count: 1 });
    await expect.poll(() => reports).toMatchObject([{ method: NAME, params: { count: 1 } }]);
    expect(heard).toBe(0);
    isFailing = false;
    peer.notify(NAME, { count: 2 });
    await expect.poll(() => reports).toHaveLength(2);
    expect(reports[1]).toMatchObject({ method: NAME, params: { count: 2 } });
  });
});

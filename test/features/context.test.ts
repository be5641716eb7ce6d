import { afterEach, describe, expect, test } from "vitest";
import { KitError, McpServer, type RequestEnd, type WithContext } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, LEGACY_VERSIONS, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

interface Team {
  readonly team: string;
}
const IDENTITY = { name: "context", version: "1.0.0" };
const textOf = (result: unknown) => (result as { content: [{ text: string }] }).content[0].text;

describe.each(ALL_VERSIONS)("ctx.context (%s)", (version) => {
  test("reaches tools, prompts, readers, completers and custom methods as a value", async () => {
    const context: Team = { team: "blue" };
    const server = new McpServer<WithContext<unknown, Team>>({ ...IDENTITY, context });
    server.tool("team", {}, (_, ctx) => ctx.context.team);
    server.prompt("team", {}, (_, ctx) => ctx.context.team);
    const arguments_ = [{ name: "who" }] as const;
    server.prompt(
      "who",
      { arguments: arguments_, complete: { who: (_value, _chosen, ctx) => [ctx.context.team] } },
      () => "",
    );
    server.resource("test://team", {}, (_, ctx) => ctx.context.team);
    server.method("example.com/team", (_, ctx) => ({ team: ctx.context.team }));
    const peer = await openPeer(server, version);
    expect(textOf(resultOf(await peer.request("tools/call", { name: "team" })))).toBe("blue");
    expect(resultOf(await peer.request("prompts/get", { name: "team" }))).toMatchObject({
      messages: [{ content: { text: "blue" } }],
    });
    expect(resultOf(await peer.request("resources/read", { uri: "test://team" }))).toMatchObject({
      contents: [{ text: "blue" }],
    });
    expect(resultOf(await peer.request("example.com/team"))).toMatchObject({ team: "blue" });
    const asked = { ref: { type: "ref/prompt", name: "who" }, argument: { name: "who", value: "" } };
    expect(resultOf(await peer.request("completion/complete", asked))).toMatchObject({
      completion: { values: ["blue"] },
    });
  });

  test("is the result of a context function, called for each request with the bindings; `_meta` cannot overwrite it", async () => {
    let calls = 0;
    const server = new McpServer<WithContext<{ prefix: string }, Team>>({
      ...IDENTITY,
      context: async (request, env, principal) => {
        expect([request, principal]).toEqual([undefined, undefined]);
        calls += 1;
        return { team: `${env.prefix} ${calls}` };
      },
    });
    server.tool("team", {}, (_, ctx) => `${ctx.context.team} ${ctx.meta.context} ${ctx.env.prefix}`);
    const peer = await openPeer(server, version, { env: { prefix: "team" } as never });
    const before = calls;
    const call = async () => textOf(resultOf(await peer.request("tools/call", { name: "team" }, { context: "mine" })));
    expect([await call(), await call()]).toEqual([`team ${before + 1} mine team`, `team ${before + 2} mine team`]);
  });

  test("fails the request with an internal error without details if the context function throws", async () => {
    const ends: RequestEnd[] = [];
    const server = new McpServer({
      ...IDENTITY,
      context: (): undefined => {
        throw new Error("db-internal.example is down");
      },
      onError: () => undefined,
      onRequestEnd: (end) => {
        ends.push(end);
      },
    });
    server.tool("team", {}, () => "never");
    const peer = await openPeer(server, version, { handshake: false });
    const error = errorOf(await peer.request("tools/call", { name: "team" }));
    expect(error).toMatchObject({ code: -32603 });
    expect(error.message).not.toContain("db-internal");
    expect(ends).toMatchObject([{ method: "tools/call", errorCode: -32603 }]);
  });
});

describe.each(ALL_VERSIONS)("a function that returns definitions (%s)", (version) => {
  const stored: { names: string[] } = { names: ["one"] };

  function createServer(): McpServer {
    const known = new Map<string, { kind: "tool"; name: string; options: object; handler(): string }>();
    const server = new McpServer({
      ...IDENTITY,
      definitions: async () =>
        stored.names.map((name) => {
          const definition = known.get(name) ?? { kind: "tool", name, options: {}, handler: () => name };
          known.set(name, definition);
          return definition;
        }),
      visible: (definition) => !(definition.kind === "tool" && definition.name.startsWith("secret")),
    });
    server.tool("fixed", {}, () => "fixed");
    server.tool("secret_fixed", {}, () => "never");
    return server;
  }

  test("makes tools listed and callable only while it returns them, and never the hidden ones", async () => {
    stored.names = ["one", "secret_two"];
    const peer = await openPeer(createServer(), version);
    const names = async () =>
      (resultOf(await peer.request("tools/list")).tools as { name: string }[]).map(({ name }) => name);
    expect(await names()).toEqual(["fixed", "one"]);
    expect(textOf(resultOf(await peer.request("tools/call", { name: "one" })))).toBe("one");
    for (const name of ["secret_fixed", "secret_two"]) {
      expect(errorOf(await peer.request("tools/call", { name })).code).toBe(-32602);
    }
    stored.names = ["three"];
    expect(await names()).toEqual(["fixed", "three"]);
    expect(errorOf(await peer.request("tools/call", { name: "one" })).code).toBe(-32602);
  });

  test("causes an internal error if it defines a name twice", async () => {
    stored.names = ["fixed"];
    const reports: unknown[] = [];
    const peer = await openPeer(createServer(), version, {
      handshake: false,
      onError: (error) => {
        reports.push(error);
      },
    });
    expect(errorOf(await peer.request("tools/call", { name: "fixed" })).code).toBe(-32603);
    expect(reports).toMatchObject([{ code: "definition-duplicate" }]);
    expect(KitError.is(reports[0])).toBe(true);
  });
});

describe.each(LEGACY_VERSIONS)("initialize (%s)", (version) => {
  test("can be repeated after a hook has refused it", async () => {
    let isOpen = false;
    const server = new McpServer({
      ...IDENTITY,
      around: [
        async (data, next) => {
          if (data.method === "initialize" && !isOpen) throw new Error("not yet");
          return next();
        },
      ],
      onError: () => undefined,
    });
    server.tool("plain", {}, () => "plain");
    const peer = await openPeer(server, version, { handshake: false });
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "p", version: "1" } };
    expect(errorOf(await peer.request("initialize", params)).code).toBe(-32603);
    isOpen = true;
    expect(resultOf(await peer.request("initialize", params)).protocolVersion).toBe(version);
  });
});

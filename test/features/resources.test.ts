import { afterEach, describe, expect, test } from "vitest";
import { type Definition, defineResource, defineResourceTemplate, KitError, McpServer } from "../../src/core/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  resultOf,
} from "./peer.ts";

afterEach(closePeers);

const newServer = () => new McpServer({ name: "shelf", version: "1.0.0" });

/** Sends one request and returns its result. */
async function ask(server: McpServer, version: string, method: string, params: Json = {}): Promise<Json> {
  const peer = await openPeer(server, version);
  return resultOf(await peer.request(method, params));
}

async function failure(server: McpServer, version: string, method: string, params: Json, bad = false) {
  const peer = await openPeer(server, version);
  return errorOf(await peer.request(method, params, undefined, { bad }));
}

async function contentsOf(server: McpServer, version: string, uri: string): Promise<Json[]> {
  return (await ask(server, version, "resources/read", { uri })).contents as Json[];
}

const icons = [{ src: "https://example.com/a.png", mimeType: "image/png" }];
const annotations = { audience: ["user"], priority: 0.5, lastModified: "2025-01-12T15:00:58Z" } as const;

describe.each(ALL_VERSIONS)("resources in %s", (version) => {
  const isSince = (since: string) => version >= since;

  test("an entry has exactly the members that its version has", async () => {
    const server = newServer().resource(
      "file:///a.txt",
      {
        name: "a",
        title: "A file",
        description: "The first",
        mimeType: "text/plain",
        size: 0,
        annotations,
        icons,
        _meta: { "example.com/team": "docs" },
      },
      () => "text",
    );
    const { lastModified, ...older } = annotations;
    expect((await ask(server, version, "resources/list")).resources).toEqual([
      {
        uri: "file:///a.txt",
        name: "a",
        description: "The first",
        mimeType: "text/plain",
        size: 0,
        annotations: isSince("2025-06-18") ? { ...older, lastModified } : older,
        ...(isSince("2025-06-18") ? { title: "A file", _meta: { "example.com/team": "docs" } } : {}),
        ...(isSince("2025-11-25") ? { icons } : {}),
      },
    ]);
  });

  test("a template entry has every member that its version has", async () => {
    const server = newServer().resourceTemplate(
      "log:///{day}",
      { name: "log", title: "Log", description: "Of a day", mimeType: "text/plain", icons, _meta: { a: 1 } },
      () => "text",
    );
    expect((await ask(server, version, "resources/templates/list")).resourceTemplates).toEqual([
      {
        uriTemplate: "log:///{day}",
        name: "log",
        description: "Of a day",
        mimeType: "text/plain",
        ...(isSince("2025-06-18") ? { title: "Log", _meta: { a: 1 } } : {}),
        ...(isSince("2025-11-25") ? { icons } : {}),
      },
    ]);
    expect((await ask(server, version, "resources/list")).resources).toEqual([]);
  });

  test("an entry without a name uses its URI as name, and has no other added members", async () => {
    const server = newServer().resource("file:///a", {}, () => "");
    expect((await ask(server, version, "resources/list")).resources).toEqual([{ uri: "file:///a", name: "file:///a" }]);
  });

  test("any scheme is listed and read under its own URI", async () => {
    const uris = [
      "file:///a",
      "https://example.com/a?b=c",
      "postgres://host/db/schema",
      "screen://localhost/1",
      "x-own+1.2:z",
    ];
    const server = newServer();
    for (const uri of uris) server.resource(uri, { mimeType: "text/plain" }, (asked) => `read ${asked}`);
    const listed = (await ask(server, version, "resources/list")).resources as Json[];
    expect(listed.map(({ uri }) => uri)).toEqual(uris);
    for (const uri of uris) {
      expect(await contentsOf(server, version, uri)).toEqual([{ uri, mimeType: "text/plain", text: `read ${uri}` }]);
    }
  });

  test("a resource, a template and a provider each read their own URIs", async () => {
    const server = newServer()
      .resource("note:///one", {}, () => "resource")
      .resourceTemplate("note:///by/{name}", {}, (_, { name }) => `template ${name}`)
      .resourceProvider({
        list: async () => [
          { uri: "note:///one", name: "the defined one takes precedence" },
          { uri: "far:///x", name: "x", size: 3 },
        ],
        read: async (uri) => (uri.startsWith("far:") ? `provider ${uri}` : undefined),
      });
    expect(await contentsOf(server, version, "note:///one")).toMatchObject([{ text: "resource" }]);
    expect(await contentsOf(server, version, "note:///by/me")).toMatchObject([{ text: "template me" }]);
    expect(await contentsOf(server, version, "far:///x")).toMatchObject([
      { uri: "far:///x", text: "provider far:///x" },
    ]);
    expect((await ask(server, version, "resources/list")).resources).toEqual([
      { uri: "note:///one", name: "note:///one" },
      { uri: "far:///x", name: "x", size: 3 },
    ]);
  });

  test("a provider alone declares the resources capability and lists only the resources that it returns", async () => {
    const server = newServer().resourceProvider({ read: (uri) => uri });
    expect((await ask(server, version, "resources/list")).resources).toEqual([]);
    expect((await ask(server, version, "resources/templates/list")).resourceTemplates).toEqual([]);
    expect(await contentsOf(server, version, "any:thing")).toEqual([{ uri: "any:thing", text: "any:thing" }]);
  });

  test("one read returns several contents, each with its own uri, mimeType, text or blob", async () => {
    const server = newServer().resource("file:///folder", { mimeType: "inode/directory" }, () => [
      { uri: "file:///folder/a.txt", mimeType: "text/plain", text: "" },
      { uri: "file:///folder/b.bin", mimeType: "application/octet-stream", blob: Uint8Array.of(0, 255) },
      { uri: "file:///folder/c", blob: "AA==" },
      { text: "its own" },
    ]);
    expect(await contentsOf(server, version, "file:///folder")).toEqual([
      { uri: "file:///folder/a.txt", mimeType: "text/plain", text: "" },
      { uri: "file:///folder/b.bin", mimeType: "application/octet-stream", blob: "AP8=" },
      expect.objectContaining({ uri: "file:///folder/c", blob: "AA==" }),
      { uri: "file:///folder", mimeType: "inode/directory", text: "its own" },
    ]);
  });

  test("returned bytes become one blob", async () => {
    const server = newServer().resource("file:///a", { mimeType: "image/png" }, async () => Uint8Array.of(1, 2, 3));
    expect(await contentsOf(server, version, "file:///a")).toEqual([
      { uri: "file:///a", mimeType: "image/png", blob: "AQID" },
    ]);
  });

  test("_meta of contents is sent if the version has it", async () => {
    const server = newServer().resource("file:///a", {}, () => ({ text: "a", _meta: { "example.com/a": 1 } }));
    const [content] = await contentsOf(server, version, "file:///a");
    expect(content?._meta).toEqual(isSince("2025-06-18") ? { "example.com/a": 1 } : undefined);
  });

  test("a resource that is not found has the code of its version and data.uri, whichever handler reports it", async () => {
    const code = version === MODERN_VERSION ? -32602 : -32002;
    const server = newServer()
      .resource("file:///a", {}, () => "a")
      .resource("file:///gone", {}, () => undefined)
      .resourceTemplate("note:///{name}", {}, () => null)
      .resourceProvider({ read: () => undefined });
    for (const uri of ["file:///b", "file:///gone", "note:///none", "far:///x", "no uri at all"]) {
      const error = await failure(server, version, "resources/read", { uri }, uri.includes(" "));
      expect([uri, error.code, error.data]).toEqual([uri, code, { uri }]);
    }
  });

  test("a read without a string uri is rejected with -32602", async () => {
    const server = newServer().resource("file:///a", {}, () => "a");
    for (const params of [{}, { uri: 1 }, { uri: null }, { uri: ["file:///a"] }]) {
      expect((await failure(server, version, "resources/read", params, true)).code).toBe(-32602);
    }
  });

  test("a reader that throws, or returns neither text nor bytes, causes -32603 without its message", async () => {
    const server = newServer()
      .resource("file:///throws", {}, () => {
        throw new Error("secret path");
      })
      .resource("file:///wrong", {}, () => ({ mimeType: "text/plain" }));
    for (const uri of ["file:///throws", "file:///wrong"]) {
      const peer = await openPeer(server, version);
      const error = errorOf(await peer.request("resources/read", { uri }));
      expect(error.code).toBe(-32603);
      expect(JSON.stringify(error)).not.toContain("secret");
      expect(peer.reports).toHaveLength(1);
    }
  });

  test("variables are decoded, a plain variable does not match a slash, and an exact resource takes precedence", async () => {
    const server = newServer()
      .resourceTemplate("db:///{table}/{column}", {}, (_, variables) => JSON.stringify(variables))
      .resource("db:///users/id", {}, () => "exact");
    expect(await contentsOf(server, version, "db:///users/id")).toMatchObject([{ text: "exact" }]);
    expect(await contentsOf(server, version, "db:///a%2Fb/caf%C3%A9%20%25")).toMatchObject([
      { uri: "db:///a%2Fb/caf%C3%A9%20%25", text: '{"table":"a/b","column":"café %"}' },
    ]);
    for (const uri of ["db:///a/b/c", "db:///a", "db:////", "db:///a/%ff", "db:///a/b?c=1"]) {
      expect([uri, (await failure(server, version, "resources/read", { uri })).data]).toEqual([uri, { uri }]);
    }
  });

  test("a reserved variable matches slashes, and a query template matches variables by name", async () => {
    const server = newServer()
      .resourceTemplate("file:///{+path}", {}, (_, { path }) => `path ${path}`)
      .resourceTemplate("logs://recent{?timeframe,level}", {}, (_, variables) => JSON.stringify(variables));
    expect(await contentsOf(server, version, "file:///a/b/c.txt")).toMatchObject([{ text: "path a/b/c.txt" }]);
    expect(await contentsOf(server, version, "logs://recent?level=info")).toMatchObject([{ text: '{"level":"info"}' }]);
    expect(await contentsOf(server, version, "logs://recent")).toMatchObject([{ text: "{}" }]);
  });

  test("a reader gets the normalized URI, and the contents have the URI that the client sent", async () => {
    const read = (uri: string) => `read ${uri}`;
    const server = newServer()
      .resource("note://caf%c3%a9", {}, read)
      .resourceTemplate("file:///{+path}", {}, read)
      .resourceTemplate("logs://recent{?timeframe,level}", {}, read)
      .resourceProvider({ read });
    const spellings = {
      "note://caf%c3%a9": ["note://caf%c3%a9", "note://caf%C3%A9", "NOTE://c%61f%C3%A9"],
      "file:///icon@2x,%C3%A9%5B1%5D.png": [
        "file:///icon%402x%2C%c3%a9%5b1%5D.png",
        "FILE:///icon@2x,%C3%A9%5B1%5D.png",
      ],
      "logs://recent?timeframe=1h&level=a%26b": ["logs://recent?level=a%26b&timeframe=1%68"],
      "far://~x/%2F": ["far://%7ex/%2f", "far://~x/%2F"],
    };
    for (const [uri, all] of Object.entries(spellings)) {
      for (const given of all) {
        expect(await contentsOf(server, version, given)).toMatchObject([
          { uri: given, text: `read ${uri.replaceAll("%5B", "[").replaceAll("%5D", "]")}` },
        ]);
      }
    }
  });

  test("of two matching templates the first one is used", async () => {
    const server = newServer()
      .resourceTemplate("a:///{x}", {}, () => "first")
      .resourceTemplate("a:///{+y}", {}, () => "second");
    expect(await contentsOf(server, version, "a:///1")).toMatchObject([{ text: "first" }]);
    expect(await contentsOf(server, version, "a:///1/2")).toMatchObject([{ text: "second" }]);
  });
});

test.each(ALL_VERSIONS)(
  "in %s the URI of a resource that visible hides is not read by any template or provider, however it is spelled",
  async (version) => {
    const isHidden = (definition: Definition<never>) =>
      /secret|private/.test(
        "uri" in definition ? definition.uri : "uriTemplate" in definition ? definition.uriTemplate : "",
      );
    const server = new McpServer({ name: "hiding", version: "1.0.0", visible: (definition) => !isHidden(definition) });
    server.resource("note://secret", {}, () => "exact");
    server.resourceTemplate("kept://private/{name}", {}, () => "private");
    server.resourceTemplate("note://{name}", {}, () => "template").resourceProvider({ read: () => "provider" });
    for (const uri of ["note://secret", "note://s%65cret", "NOTE://secret", "kept://private/x", "kept://%70rivate/x"]) {
      expect([uri, (await failure(server, version, "resources/read", { uri })).data]).toEqual([uri, { uri }]);
    }
    expect(await contentsOf(server, version, "note://other")).toMatchObject([{ text: "template" }]);
    expect(await contentsOf(server, version, "kept://other")).toMatchObject([{ text: "provider" }]);
  },
);

test.each(LEGACY_VERSIONS)(
  "the resources capability is declared in %s only if there are resources",
  async (version) => {
    const without = await openPeer(newServer(), version);
    const having = await openPeer(
      newServer().resource("file:///a", {}, () => "a"),
      version,
    );
    for (const [peer, has] of [
      [without, false],
      [having, true],
    ] as const) {
      const { capabilities } = resultOf(peer.initialized ?? (await peer.request("ping"))) as { capabilities: Json };
      expect(Object.hasOwn(capabilities, "resources")).toBe(has);
    }
  },
);

describe("a resource definition", () => {
  const noReader = undefined as unknown as () => string;

  test.each([-1, 1.5, Number.NaN])("throws for a size of %d, naming the resource", (size) => {
    expect(() => newServer().resource("file:///a", { size }, () => "a")).toThrow(/file:\/\/\/a.*size/);
  });

  test("throws without a reader, naming the resource, template or provider", () => {
    expect(() => newServer().resource("file:///a", {}, noReader)).toThrow(/file:\/\/\/a/);
    expect(() => newServer().resourceTemplate("file:///{a}", {}, noReader)).toThrow(/file:\/\/\/\{a\}/);
    expect(() => newServer().resourceProvider({ read: noReader })).toThrow(KitError);
    expect(() => defineResource("file:///a", {}, noReader)).toThrow(KitError);
    expect(() => defineResourceTemplate("file:///{a}", {}, noReader)).toThrow(KitError);
  });

  test.each(["", "a.txt", "/a", "1x:a", "://a"])("throws for the URI %j, which has no scheme", (uri) => {
    expect(() => newServer().resource(uri, {}, () => "a")).toThrow(
      expect.objectContaining({ code: "definition-invalid" }),
    );
  });

  test("throws if its URI or template differs from an existing one only in spelling, naming it", () => {
    const server = newServer()
      .resource("a://x%2a", {}, () => "")
      .resourceTemplate("a://~{x}", {}, () => "");
    expect(() => server.resource("A://x%2A", {}, () => "")).toThrow(/A:\/\/x%2A/);
    expect(() => server.resourceTemplate("a://%7E{x}", {}, () => "")).toThrow(/a:\/\/%7E\{x\}/);
  });

  test("throws for a duplicate URI or template, naming it, and the first definition stays", async () => {
    const server = newServer()
      .resource("file:///a", {}, () => "first")
      .resourceTemplate("b:{c}", {}, () => "first");
    expect(() => server.resource("file:///a", {}, () => "second")).toThrow(/file:\/\/\/a/);
    expect(() => server.resourceTemplate("b:{c}", {}, () => "second")).toThrow(/b:\{c\}/);
    expect(await contentsOf(server, MODERN_VERSION, "file:///a")).toMatchObject([{ text: "first" }]);
  });

  test("throws for a second provider", () => {
    const server = newServer().resourceProvider({ read: () => "a" });
    expect(() => server.resourceProvider({ read: () => "b" })).toThrow(
      expect.objectContaining({ code: "definition-duplicate" }),
    );
  });
});

import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { REGISTRY } from "../../src/core/define/server.ts";
import { defineResource, defineTool, KitError, McpServer } from "../../src/core/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type Peer,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

const named = (name: string) => new McpServer({ name, version: "1.0.0" });

function newMath() {
  return named("math")
    .tool("add", { description: "Adds" }, () => "3")
    .prompt(
      "explain",
      { arguments: [{ name: "topic" }], complete: { topic: () => ["sum", "product"] } },
      ({ topic }) => `Explain ${topic}`,
    )
    .resource("math://pi", { name: "pi" }, () => "3.14")
    .resourceTemplate("math://squares/{n}", { name: "squares" }, (_, { n }) => String(Number(n) ** 2))
    .method("example/double", ({ n }) => ({ doubled: Number(n) * 2 }));
}

async function listed(peer: Peer, method: string, list: string, key = "name"): Promise<unknown[]> {
  const response = await peer.request(method);
  return "error" in response
    ? []
    : (response.result[list] as { [member: string]: unknown }[]).map((entry) => entry[key]);
}

const tools = (peer: Peer) => listed(peer, "tools/list", "tools");

async function call(peer: Peer, name: string): Promise<string | undefined> {
  const { content } = resultOf(await peer.request("tools/call", { name }));
  return (content as { text?: string }[])[0]?.text;
}

describe.each(ALL_VERSIONS)("a mounted server in %s", (version) => {
  test("mount: tools and prompts are available under the prefix, resources and templates under their URIs", async () => {
    const parent = named("all")
      .tool("add", {}, () => "own")
      .mount(newMath(), { prefix: "math/" });
    const peer = await openPeer(parent, version);
    expect(await tools(peer)).toEqual(["add", "math/add"]);
    expect(await listed(peer, "prompts/list", "prompts")).toEqual(["math/explain"]);
    expect(await listed(peer, "resources/list", "resources", "uri")).toEqual(["math://pi"]);
    expect(await listed(peer, "resources/templates/list", "resourceTemplates", "uriTemplate")).toEqual([
      "math://squares/{n}",
    ]);
    expect([await call(peer, "add"), await call(peer, "math/add")]).toEqual(["own", "3"]);
    const got = resultOf(await peer.request("prompts/get", { name: "math/explain", arguments: { topic: "sums" } }));
    expect(got.messages).toMatchObject([{ content: { text: "Explain sums" } }]);
    for (const [uri, text] of [
      ["math://pi", "3.14"],
      ["math://squares/4", "16"],
    ]) {
      expect(resultOf(await peer.request("resources/read", { uri })).contents).toMatchObject([{ uri, text }]);
    }
    const argument = { name: "topic", value: "s" };
    const completed = await peer.request("completion/complete", {
      ref: { type: "ref/prompt", name: "math/explain" },
      argument,
    });
    expect(resultOf(completed).completion).toMatchObject({ values: expect.arrayContaining(["sum"]) });
  });

  test("mount: custom methods are available only under the prefix", async () => {
    const parent = named("all").mount(newMath(), { prefix: "math/" });
    const peer = await openPeer(parent, version);
    const answer = await peer.request("math/example/double", { n: 4 }, {}, { bad: true });
    expect(resultOf(answer)).toMatchObject({ doubled: 8 });
    expect(errorOf(await peer.request("example/double", { n: 4 }, {}, { bad: true })).code).toBe(-32601);
  });

  test("mount: additions, replacements and removals take effect at once, through every level", async () => {
    const math = newMath();
    const parent = named("all").mount(named("middle").mount(math, { prefix: "math/" }), { prefix: "m." });
    const peer = await openPeer(parent, version);
    expect(await tools(peer)).toEqual(["m.math/add"]);
    math.tool("sub", {}, () => "1").replace(defineTool("add", {}, () => "three"));
    math.add(defineResource("math://e", { name: "e" }, () => "2.72"));
    math.method("example/half", ({ n }) => ({ half: Number(n) / 2 }));
    expect(await tools(peer)).toEqual(["m.math/add", "m.math/sub"]);
    expect(await call(peer, "m.math/add")).toBe("three");
    expect(await listed(peer, "resources/list", "resources", "uri")).toEqual(["math://pi", "math://e"]);
    const half = await peer.request("m.math/example/half", { n: 4 }, {}, { bad: true });
    expect(resultOf(half)).toMatchObject({ half: 2 });
    expect([math.remove("tool", "add"), math.remove("resource", "math://pi")]).toEqual([true, true]);
    expect(await tools(peer)).toEqual(["m.math/sub"]);
    expect(await listed(peer, "resources/list", "resources", "uri")).toEqual(["math://e"]);
    expect(errorOf(await peer.request("tools/call", { name: "m.math/add" })).code).toBe(-32602);
  });

  test("mount: errors go to the parent, and its hooks run", async () => {
    const heard: unknown[] = [];
    const hooks = (who: string) => ({
      around: [
        (data: { readonly tool?: string }, next: () => Promise<{ [member: string]: unknown }>) => {
          if (data.tool) heard.push(`${who} ${data.tool}`);
          return next();
        },
      ],
      onError: (error: unknown, where: { readonly tool?: string }) => void heard.push([who, where.tool, error]),
    });
    const child = new McpServer({ name: "child", version: "1.0.0", ...hooks("child") }).tool("fail", {}, () => {
      throw new Error("oops");
    });
    const parent = new McpServer({ name: "all", version: "1.0.0", ...hooks("parent") }).mount(child, { prefix: "c/" });
    const peer = await openPeer(parent, version);
    expect(await call(peer, "c/fail")).toMatch(/Tool "c\/fail" failed/);
    expect(heard).toEqual(["parent c/fail", ["parent", "c/fail", new Error("oops")]]);
  });
});

describe("changes of definitions", () => {
  test.each(LEGACY_VERSIONS)("mount: in %s clients of the parent are notified of every change", async (version) => {
    const math = newMath();
    const parent = named("all").tool("own", {}, () => "");
    const peer = await openPeer(parent, version);
    const heard = async (change: () => unknown) => {
      const before = peer.notifications.length;
      change();
      await expect.poll(() => peer.notifications.length).toBeGreaterThan(before);
      return peer.notifications.slice(before).map(({ method }) => method);
    };
    expect(await heard(() => parent.mount(math, { prefix: "math/" }))).toEqual([
      "notifications/tools/list_changed",
      "notifications/prompts/list_changed",
      "notifications/resources/list_changed",
    ]);
    expect(await heard(() => math.tool("sub", {}, () => ""))).toEqual(["notifications/tools/list_changed"]);
    expect(await heard(() => math.remove("prompt", "explain"))).toEqual(["notifications/prompts/list_changed"]);
    expect(await heard(() => math.resourcesChanged())).toEqual(["notifications/resources/list_changed"]);
    resultOf(await peer.request("resources/subscribe", { uri: "math://pi" }));
    expect(await heard(() => math.resourceUpdated("math://pi"))).toEqual(["notifications/resources/updated"]);
  });

  test("mount: changes in the parent do not affect the mounted server", async () => {
    const math = newMath();
    const parent = named("all").mount(math, { prefix: "math/" });
    const peer = await openPeer(math, "2025-11-25");
    parent.tool("own", {}, () => "");
    parent.remove("tool", "math/add");
    await settle(peer);
    expect([await tools(peer), peer.notifications]).toEqual([["add"], []]);
  });
});

describe("definitions that conflict", () => {
  test("mount: a name that is taken throws naming both servers, and nothing is mounted", async () => {
    const parent = named("all").prompt("math/explain", {}, () => "own");
    const mount = () => parent.mount(newMath(), { prefix: "math/" });
    expect(mount).toThrow(KitError);
    expect(mount).toThrow(/"math\/explain" is already defined; "explain" of the mounted server "math"/);
    const peer = await openPeer(parent, MODERN_VERSION);
    expect([await tools(peer), await listed(peer, "resources/list", "resources")]).toEqual([[], []]);
  });

  test("mount: a later definition with a name that the parent uses throws and changes neither server", async () => {
    const math = newMath();
    const parent = named("all")
      .tool("math/sub", {}, () => "own")
      .mount(math, { prefix: "math/" });
    const sub = defineTool("sub", {}, () => "");
    for (const define of [() => math.add(sub), () => math.replace(sub)]) {
      expect(define).toThrow(expect.objectContaining({ code: "definition-duplicate" }));
    }
    expect([...math[REGISTRY].tools.values()].map(({ name }) => name)).toEqual(["add"]);
    expect(await call(await openPeer(parent, MODERN_VERSION), "math/sub")).toBe("own");
  });

  test("mount: two servers with the same URI or method cannot be mounted", () => {
    const taken = named("all").mount(newMath(), { prefix: "a/" });
    expect(() => taken.mount(newMath(), { prefix: "b/" })).toThrow(/"math:\/\/pi" of the mounted server/);
    const methods = named("all").method("m/example/double", () => ({}));
    expect(() => methods.mount(newMath(), { prefix: "m/" })).toThrow(
      expect.objectContaining({ code: "method-defined" }),
    );
    expect(methods[REGISTRY].tools.size).toBe(0);
  });

  test("mount: a name that is invalid with its prefix is refused", () => {
    expect(() => named("all").mount(newMath(), { prefix: "my math " })).toThrow(
      expect.objectContaining({ code: "definition-invalid", message: expect.stringContaining("my math add") }),
    );
  });

  test("mount: a server cannot be mounted in itself, even through other servers", () => {
    const [one, two, three] = [named("one"), named("two"), named("three")];
    one.mount(two, { prefix: "2/" });
    two.mount(three, { prefix: "3/" });
    for (const [into, other] of [
      [one, one],
      [two, one],
      [three, one],
    ] as const) {
      expect(() => into.mount(other, { prefix: "x/" })).toThrow(
        expect.objectContaining({ code: "definition-invalid" }),
      );
    }
    // The same server in two places is not a cycle.
    one.mount(three, { prefix: "3/" });
    three.tool("t", {}, () => "");
    expect([...one[REGISTRY].tools.values()].map(({ name }) => name)).toEqual(["2/3/t", "3/t"]);
  });
});

test("mount: the resource provider of a mounted server is used if the parent has none", async () => {
  const part = named("part").resourceProvider({ read: (uri) => `part ${uri}` });
  const parent = named("all").mount(part, { prefix: "p/" });
  const read = async () =>
    resultOf(await (await openPeer(parent, MODERN_VERSION)).request("resources/read", { uri: "x://y" })).contents;
  expect(await read()).toMatchObject([{ text: "part x://y" }]);
  parent.resourceProvider({ read: (uri) => `own ${uri}` });
  expect(await read()).toMatchObject([{ text: "own x://y" }]);
});

test("mount: a server without bindings can be mounted in a server with bindings", () => {
  const parent = new McpServer<{ readonly key: string }>({ name: "all", version: "1.0.0" });
  parent.mount(newMath(), { prefix: "math/" });
  expect(parent[REGISTRY].tools.size).toBe(1);
  // @ts-expect-error the parent has no such bindings
  named("other").mount(parent, { prefix: "x/" });
});

test("mount: whatever is done to a mounted server, before or after, the parent shows its tools under the prefix", () => {
  const step = fc.record({ kind: fc.constantFrom("add", "replace", "remove"), name: fc.constantFrom("a", "b", "c") });
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (before, after) => {
      const [part, whole] = [named("part"), named("whole")];
      const take = ({ kind, name }: { readonly kind: string; readonly name: string }) => {
        if (kind === "remove") part.remove("tool", name);
        else if (kind === "replace") part.replace(defineTool(name, {}, () => ""));
        else if (!part[REGISTRY].tools.find(name)) part.add(defineTool(name, {}, () => ""));
      };
      before.forEach(take);
      whole.mount(part, { prefix: "p." });
      after.forEach(take);
      const names = [...part[REGISTRY].tools.values()].map(({ name }) => `p.${name}`);
      expect([...whole[REGISTRY].tools.values()].map(({ name }) => name)).toEqual(names);
    }),
  );
});

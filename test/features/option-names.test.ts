/** Unknown option names are refused; a misspelled option would otherwise be silently ignored. */
import { afterEach, describe, expect, test } from "vitest";
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  McpServer,
  type ServerOptions,
} from "../../src/core/index.ts";
import { closePeers, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const IDENTITY = { name: "named", version: "1.0.0" };
const answer = () => "";

/** Expects an option to be refused, and the message to suggest what to write instead. */
function expectRefused(define: () => unknown, name: string, ...says: readonly string[]): void {
  const expected = [` has no option "${name}"`, ...says].map((text) => expect.stringContaining(text));
  const failed: { code?: unknown; message?: unknown } = {};
  try {
    define();
  } catch (error) {
    Object.assign(failed, { code: (error as { code: unknown }).code, message: (error as Error).message });
  }
  expect(failed.code).toBe("options-invalid");
  for (const each of expected) expect(failed.message).toEqual(each);
}

/** Options as a program without types would pass them. */
const untyped = (options: object) => options as never;

describe("the error for an option that does not exist", () => {
  test.each([
    ["pagesize", "pageSize"],
    ["onSubscribed", "onSubscribe"],
    ["cacheHint", "cacheHints"],
    ["instruction", "instructions"],
    ["protocolVersion", "protocolVersions"],
  ])("names the unknown option %s of new McpServer() and a similar one", (name, similar) => {
    expectRefused(() => new McpServer(untyped({ ...IDENTITY, [name]: 1 })), name, "new McpServer()", `"${similar}"?`);
  });

  test.each([
    ["inputSchema", "input"],
    ["timeoutMS", "timeoutMs"],
    ["descripton", "description"],
    ["annotation", "annotations"],
  ])("names the unknown option %s of a tool and a similar one", (name, similar) => {
    const says = ['Tool "t"', `"${similar}"?`];
    expectRefused(() => new McpServer(IDENTITY).tool("t", untyped({ [name]: 1 }), answer), name, ...says);
    expectRefused(() => defineTool("t", untyped({ [name]: 1 }), answer), name, ...says);
  });

  test("is thrown for a prompt, a resource and a resource template", () => {
    const server = () => new McpServer(IDENTITY);
    const [argument, mime, completer] = [{ argument: [] }, { mimetype: "text/plain" }, { completes: {} }].map(untyped);
    expectRefused(() => server().prompt("p", argument ?? {}, answer), "argument", 'Prompt "p"', '"arguments"?');
    expectRefused(() => definePrompt("p", argument ?? {}, answer), "argument");
    expectRefused(() => server().resource("a:b", mime ?? {}, answer), "mimetype", 'Resource "a:b"', '"mimeType"?');
    expectRefused(() => defineResource("a:b", mime ?? {}, answer), "mimetype");
    const template = 'Resource template "a:{b}"';
    expectRefused(
      () => server().resourceTemplate("a:{b}", completer ?? {}, answer),
      "completes",
      template,
      '"complete"?',
    );
    expectRefused(() => defineResourceTemplate("a:{b}", untyped({ size: 1 }), answer), "size", template);
  });

  test("is thrown for a caching hint, and for the name of its method", () => {
    const hinted = (cacheHints: object) => () => new McpServer(untyped({ ...IDENTITY, cacheHints }));
    expectRefused(hinted({ "tools/lists": {} }), "tools/lists", '"tools/list"?');
    expectRefused(hinted({ "tools/list": { ttl: 1 } }), "ttl", '"ttlMs"?');
    expectRefused(
      () => defineResource("a:b", { cache: untyped({ scope: "public" }) }, answer),
      "scope",
      '"cacheScope"?',
    );
  });

  test("has the index of a definition in a list", () => {
    const tool = { kind: "tool", name: "t", options: untyped({ outputSchema: {} }), handler: answer } as const;
    const define = () => new McpServer({ ...IDENTITY, tools: [tool] });
    expectRefused(define, "outputSchema", "tools[0] of new McpServer", '"output"?');
  });
});

test("options that are not an object are refused", () => {
  for (const options of [undefined, null, "text"]) {
    const refused = expect.objectContaining({
      code: "options-invalid",
      message: expect.stringContaining('Tool "t": '),
    });
    expect(() => new McpServer(IDENTITY).tool("t", options as never, answer)).toThrow(refused);
  }
});

test("inherited options are not checked again in servers that have one view per caller", async () => {
  class Options implements ServerOptions<unknown> {
    readonly name = "inherited";
    readonly version = "1.0.0";

    visible(): boolean {
      return true;
    }
  }
  const server = new McpServer(new Options()).tool("t", { timeoutMs: Infinity }, () => "seen");
  const peer = await openPeer(server, "2025-11-25");
  expect(resultOf(await peer.request("tools/call", { name: "t" }))).toMatchObject({ content: [{ text: "seen" }] });
  await peer.close();
});

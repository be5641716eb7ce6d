import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { migrate } from "../../packages/migrate/src/migrate.ts";
import { formNames, MIGRATED, migrateText, readForm } from "./forms.ts";

const IMPORT = 'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n';

describe("each form", () => {
  test.each(formNames())("%s is migrated as recorded, and a second migration does not change it", async (name) => {
    const files = readForm(name);
    const { changes } = migrate(files, "0.1.0");
    for (const { path, after } of changes) await expect(after).toMatchFileSnapshot(join(MIGRATED, name, path));
    const migrated = files.map((file) => ({
      path: file.path,
      text: changes.find(({ path }) => path === file.path)?.after ?? file.text,
    }));
    expect(migrate(migrated, "0.1.0").changes).toEqual([]);
  });

  test("only what has no counterpart has notes", () => {
    const noted = formNames().filter((name) => migrate(readForm(name), "0.1.0").todos.length > 0);
    expect(noted).toEqual(["agent-state", "v1-uses"]);
  });
});

describe("texts of untrusted projects", () => {
  test("a file with syntax errors is not changed, and is reported", () => {
    const { text, outcome } = migrateText(`${IMPORT}const server = new McpServer({ name: "a", version: "1" };`);
    expect(text).toContain("@modelcontextprotocol/sdk");
    expect(outcome.skipped).toEqual([{ path: "server.ts", reason: "it has syntax errors" }]);
  });

  test("a CommonJS module is not changed, and is reported", () => {
    const { outcome } = migrateText(
      'const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");',
      "a.cjs",
    );
    expect(outcome.changes).toEqual([]);
    expect(outcome.skipped).toEqual([expect.objectContaining({ path: "a.cjs" })]);
  });

  test("a test of the project is not changed, and is reported", () => {
    const { outcome } = migrateText(`${IMPORT}new McpServer({ name: "a", version: "1" });`, "src/a.test.ts");
    expect(outcome.changes).toEqual([]);
    expect(outcome.skipped).toEqual([{ path: "src/a.test.ts", reason: "it is a test" }]);
  });

  test("CRLF and a byte order mark are kept", () => {
    const lines = [
      `\uFEFF${IMPORT.trim()}`,
      'const server = new McpServer({ name: "a", version: "1" });',
      'server.tool("t", async () => ({ content: [] }));',
      "await server.close();",
      "",
    ];
    const { text } = migrateText(lines.join("\r\n"));
    expect(text.startsWith("\uFEFFimport { McpServer }")).toBe(true);
    expect(text.replaceAll("\r\n", "")).not.toContain("\n");
    expect(text).toContain("// TODO(mcp-edge): ");
  });

  test("members called __proto__ and constructor stay members", () => {
    const { text } = migrateText(
      `${IMPORT}import { z } from "zod";\nconst server = new McpServer({ name: "a", version: "1" });\nserver.registerTool("t", { ["__proto__"]: 1, constructor: 2, inputSchema: { __proto__: z.string(), toString: z.string() } } as never, async (args, extra) => ({ content: [], hasOwnProperty: extra.constructor }));`,
    );
    expect(text).toContain("constructor: 2, input: z.object({ __proto__: z.string(), toString: z.string() })");
  });

  test("the text of a template string is not changed, even if it looks like code", () => {
    const inside =
      '`\n    this.server.tool("x", {})\n        import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"\n`';
    const { text } = migrateText(
      `${IMPORT}const server = new McpServer({ name: "a", version: "1" });\nserver.tool("t", ${inside}, async () => ({ content: [] }));`,
    );
    expect(text).toContain(`{ description: ${inside} }`);
  });

  test("JSX is kept, and a server beside it is migrated", () => {
    const { text } = migrateText(
      `${IMPORT}export const page = <p className="a">{"tool"}</p>;\nexport const server = new McpServer({ name: "a", version: "1" });\nserver.tool("t", async () => ({ content: [] }));`,
      "page.tsx",
    );
    expect(text).toContain('<p className="a">{"tool"}</p>');
    expect(text).toContain('server.tool("t", {}, async');
  });

  test("a client of the SDK is not changed", () => {
    const text =
      'import { Client } from "@modelcontextprotocol/sdk/client/index.js";\nnew Client({ name: "a", version: "1" });\n';
    expect(migrateText(text).outcome.changes).toEqual([]);
  });

  test("a file that is nested more deeply than the parser's stack is reported", () => {
    const { outcome } = migrateText(`${IMPORT}export const a = ${"[".repeat(50_000)}${"]".repeat(50_000)};`);
    expect(outcome.skipped).toEqual([{ path: "server.ts", reason: "it is nested too deeply" }]);
  });

  test("a line break in a name does not end the comment of a note", () => {
    const { text } = migrateText(
      `${IMPORT}import { x } from "@modelcontextprotocol/sdk/\\nalert(1)//";\nexport const server = new McpServer({ name: "a", version: "1" }, { [\`b\nalert(2)//\`]: x, capabilities: {} } as never);\n`,
    );
    expect(text).toContain("TODO(mcp-edge)");
    expect(text).not.toMatch(/^\s*alert/m);
  });

  test("code that becomes a comment stays one, whatever ends its lines", () => {
    const { text } = migrateText(
      `${IMPORT}const server = new McpServer({ name: "a", version: "1" });\nserver.close(\u2028alert(1)\r+ alert(2));\n`,
    );
    expect(text).toMatch(/\/\/ alert\(1\)/);
    expect(text).not.toMatch(/(^|[\r\n\u2028])\s*(alert|\+)/);
  });

  test("a schema of unknown origin has a note instead of a guess", () => {
    const { text, outcome } = migrateText(
      `${IMPORT}import { schema } from "elsewhere";\nexport const server = new McpServer({ name: "a", version: "1" });\nserver.registerTool("t", { inputSchema: schema }, async () => ({ content: [] }));`,
    );
    expect(text).toContain("input: schema");
    expect(outcome.todos).toEqual([
      expect.objectContaining({ text: expect.stringContaining("It is not known whether") }),
    ]);
  });
});

describe("routes that do more than serve", () => {
  const server = `${IMPORT}import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import { verify } from "./verify.js";
const server = new McpServer({ name: "a", version: "1" });
const app = express();
const handle = async (req: any, res: any) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
};
`;

  test.each([
    ["middleware of the route", 'app.post("/mcp", verify, handle);'],
    ["middleware of the path", 'app.use("/mcp", verify);\napp.post("/mcp", handle);'],
    ["middleware of the app", 'app.use(verify);\napp.post("/mcp", handle);'],
    ["middleware that a call creates", 'app.use(verify({ required: true }));\napp.post("/mcp", handle);'],
  ])("%s is not removed, because it may authenticate", (_, routes) => {
    const { text, outcome } = migrateText(`${server}${routes}\napp.listen(3000);\n`);
    expect(text).toContain(routes);
    expect(text).not.toContain("await serveHttp");
    expect(outcome.todos).toContainEqual(
      expect.objectContaining({ text: expect.stringContaining("instead of this transport") }),
    );
  });

  test("middleware of Express for a handler of the SDK v2 is not removed either", () => {
    const route = 'app.all("/mcp", requireBearerAuth({ verifier }), (req, res) => void node(req, res, req.body));';
    const { text, outcome } = migrateText(
      `import { createMcpExpressApp, requireBearerAuth } from "@modelcontextprotocol/express";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { verifier } from "./verifier.ts";
const node = toNodeHandler(createMcpHandler(() => new McpServer({ name: "a", version: "1" })));
const app = createMcpExpressApp();
${route}
app.listen(3000);
`,
    );
    expect(text).toContain(route);
    expect(text).not.toContain("await serveHttp");
    expect(outcome.todos).toContainEqual(expect.objectContaining({ text: expect.stringContaining("port of its own") }));
  });
});

describe("functions that create a server", () => {
  const v2 = (body: string) =>
    migrateText(
      `import { createMcpHandler, McpServer, type McpRequestContext } from "@modelcontextprotocol/server";\n${body}`,
    );

  test("a function that uses its argument outside of handlers has a note", () => {
    const { text, outcome } = v2(
      'const build = (ctx: McpRequestContext) => new McpServer({ name: ctx.era, version: "1" });\nexport default createMcpHandler(build);\n',
    );
    expect(text).toContain("const build = (ctx: McpRequestContext)");
    expect(outcome.todos).toContainEqual(expect.objectContaining({ text: expect.stringContaining("principal") }));
  });

  test("an argument with side effects is not removed", () => {
    const { text } = v2(
      'function build(ctx: McpRequestContext) {\n  const server = new McpServer({ name: "a", version: "1" });\n  server.registerTool("t", {}, async () => ({ content: [{ type: "text", text: ctx.era }] }));\n  return server;\n}\nbuild(next());\nexport default createMcpHandler(build);\n',
    );
    expect(text).toContain("build(next())");
    expect(text).toContain("function build(ctx: McpRequestContext)");
  });
});

describe("events of a server", () => {
  const stdio = 'import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";\n';
  const event = "server.server.oninitialized = async () => { await server.server.listRoots(); };\n";

  test("oninitialized has a note if the server has several clients", () => {
    const { text, outcome } = migrateText(
      `${IMPORT}import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";\nexport const server = new McpServer({ name: "a", version: "1" });\nserver.tool("t", async () => ({ content: [] }));\n${event}void SSEServerTransport;\n`,
    );
    expect(text).toContain("// server.server.oninitialized");
    expect(outcome.todos).toContainEqual(expect.objectContaining({ text: expect.stringContaining("oninitialized") }));
  });

  test("the context is passed to the handler of a low-level server that waits for oninitialized", () => {
    const { text, outcome } = migrateText(
      `import { Server } from "@modelcontextprotocol/sdk/server/index.js";\n${stdio}import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
const server = new Server({ name: "a", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] }));
server.setRequestHandler(CallToolRequestSchema, async (request) => {
  return { content: [{ type: "text", text: request.params.name }] };
});
server.oninitialized = async () => { await server.listRoots(); };
await server.connect(new StdioServerTransport());
`,
    );
    expect(outcome.todos).toEqual([]);
    expect(text).toContain("await initialize(ctx);");
    expect(text).toMatch(/callTool\(\{ params: \{[^\n]*\} \}, ctx\)/);
  });

  test("onerror is removed only if it prints the error, as the kit does", () => {
    const lines = (handler: string) =>
      migrateText(
        `${IMPORT}export const server = new McpServer({ name: "a", version: "1" });\nserver.server.onerror = ${handler};\n`,
      );
    expect(lines("(error) => console.error(error)").text).not.toContain("onerror");
    expect(lines("(error) => report(error)").text).toContain("// server.server.onerror = (error) => report(error);");
  });
});

describe("package.json", () => {
  const source = {
    path: "src/server.ts",
    text: `${IMPORT}import { z } from "zod";\nexport const server = new McpServer({ name: z.string().parse("a"), version: "1" });`,
  };
  const migrated = (manifest: string) =>
    migrate([source, { path: "package.json", text: manifest }], "1.2.3").changes.find(
      ({ path }) => path === "package.json",
    )?.after;

  test("dependencies are replaced, and zod becomes new enough", () => {
    const manifest =
      '{\n\t"name": "a",\n\t"dependencies": { "@modelcontextprotocol/sdk": "^1.0.0", "zod": "^3.25.0" }\n}\n';
    expect(migrated(manifest)).toBe(
      '{\n\t"name": "a",\n\t"dependencies": {\n\t\t"mcp-edge": "^1.2.3",\n\t\t"zod": "^4.6.7"\n\t}\n}\n',
    );
  });

  test("a package that is still imported stays", () => {
    const client = {
      path: "src/client.ts",
      text: 'import { Client } from "@modelcontextprotocol/sdk/client/index.js";\nvoid Client;',
    };
    const { changes } = migrate(
      [source, client, { path: "package.json", text: '{"dependencies":{"@modelcontextprotocol/sdk":"1.30.0"}}' }],
      "1.2.3",
    );
    expect(changes.find(({ path }) => path === "package.json")?.after).toContain(
      '"@modelcontextprotocol/sdk": "1.30.0"',
    );
  });

  test("a file that is not JSON is not changed", () => {
    expect(migrated("{ dependencies: }")).toBeUndefined();
  });
});

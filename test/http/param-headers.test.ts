/** Arguments in `Mcp-Param-*` headers whose names are those of inherited members of objects. */
import { expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { CONTENT, requestOf, standardHeaders } from "./messages.ts";

const INHERITED = ["constructor", "toString", "valueOf"];

test.each(INHERITED)(
  "an argument named %j is expected in its header if it is sent, and not otherwise",
  async (name) => {
    const input = jsonSchema({
      type: "object",
      properties: { [name]: { type: "string", "x-mcp-header": "Inherited" } },
    });
    const server = new McpServer({ name: "params", version: "1.0.0" }).tool("t", { input }, (args) =>
      JSON.stringify(args),
    );
    const handle = createHttpHandler(server, { onError: () => undefined });
    const call = async (args: object, more: object = {}) => {
      const message = requestOf("modern", "tools/call", { name: "t", arguments: args });
      const headers = { ...CONTENT, ...standardHeaders(message), ...more } as Record<string, string>;
      const init = { method: "POST", headers, body: JSON.stringify(message) };
      return (await handle(new Request("http://localhost/mcp", init), {})).status;
    };
    expect(await call({})).toBe(200);
    expect(await call({ [name]: "own" })).toBe(400);
    expect(await call({ [name]: "own" }, { "mcp-param-inherited": "own" })).toBe(200);
    expect(await call({}, { "mcp-param-inherited": "own" })).toBe(400);
  },
);

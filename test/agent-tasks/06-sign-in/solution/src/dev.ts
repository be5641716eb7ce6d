import { McpServer } from "mcp-edge";
import { authorizationServer } from "mcp-edge/authorization-server";
import { developmentUsers } from "mcp-edge/authorization-server/dev";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

const auth = authorizationServer({
  name: "Who am I",
  identity: developmentUsers(),
  allow: { anyone: true },
  scopes: { read: { description: "See who you are" }, admin: { description: "Delete everything" } },
  requiredScopes: ["read"],
  needs: { tools: { wipe: ["admin"] } },
  registration: true,
});

const server = new McpServer({ name: "sign-in", version: "1.0.0" });
server.tool(
  "whoami",
  {
    description: "Returns who has signed in",
    annotations: { readOnlyHint: true },
    output: z.object({ user: z.string() }),
  },
  (_, ctx) => ({ user: ctx.auth?.subject ?? "nobody" }),
);
server.tool("wipe", { description: "Deletes everything", output: z.object({ wiped: z.boolean() }) }, () => ({
  wiped: true,
}));

const app = edge(server, { use: [durable(), auth] });
export default app;
export class McpObject extends app.McpObject {}

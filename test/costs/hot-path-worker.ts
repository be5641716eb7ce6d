/** A Worker with fifty tools that counts how its requests use the platform. */

import * as z from "zod";
import { McpServer } from "../../src/core/index.ts";
import { edge } from "../../src/worker/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { takeUses, watchObject } from "./watched-globals.ts";

const server = new McpServer({ name: "hot path", version: "1.0.0" });
for (let number = 1; number <= 50; number += 1) {
  const input = z.object({ city: z.string().describe("Name of the place") });
  server.tool(`forecast-${number}`, { description: `Forecast ${number}`, input }, ({ city }) => `${city}: sun`);
}
server.tool("slow", {}, async (_, ctx) => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return `aborted: ${ctx.signal.aborted}`;
});

const stateless = edge(server, { path: "/stateless" });
const app = edge(server, { use: [sessions()] });
app.post("/stateless", (context) => stateless.fetch(context.req.raw, context.env, context.executionCtx));
app.get("/uses", () => Response.json(takeUses()));
export default app;

export class McpObject extends app.McpObject {
  constructor(state: DurableObjectState, env: object) {
    watchObject(state);
    super(state, env);
  }
}

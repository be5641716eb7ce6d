/** The floor with zod and the same schemas as the others: what the start of a Worker costs without a server library. */
import { Hono } from "hono/tiny";
import { echoTools, emitInput } from "../tools.ts";
import { cannedAnswer } from "./canned.ts";

const schemas = [...echoTools.map(({ input }) => input), emitInput];
const app = new Hono();
app.post("/mcp", async (context) => {
  const { id, method } = await context.req.json<{ id?: number; method: string }>();
  return new Response(cannedAnswer(id, method), { headers: { "Content-Type": "application/json" } });
});
// Uses the schemas, so that the bundler keeps them.
app.get("/schemas", (context) => context.json(schemas.length));
export default app;

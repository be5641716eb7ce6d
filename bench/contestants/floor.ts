/** The floor: a bare Hono Worker that parses the body and answers with a fixed text. */
import { Hono } from "hono/tiny";
import { cannedAnswer } from "./canned.ts";

const app = new Hono();
app.post("/mcp", async (context) => {
  const { id, method } = await context.req.json<{ id?: number; method: string }>();
  return new Response(cannedAnswer(id, method), { headers: { "Content-Type": "application/json" } });
});
export default app;

/** @hono/mcp: its transport for SDK v1, connected once, as its README shows. */
import { StreamableHTTPTransport } from "@hono/mcp";
import { Hono } from "hono";
import { makeServer } from "./sdk-v1-server.ts";

const server = makeServer();
const transport = new StreamableHTTPTransport({ enableJsonResponse: true });

const app = new Hono();
app.all("/mcp", async (context) => {
  if (!server.isConnected()) await server.connect(transport);
  return (await transport.handleRequest(context)) ?? new Response(null, { status: 202 });
});
export default app;

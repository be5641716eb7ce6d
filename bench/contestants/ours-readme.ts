/** mcp-edge as README and the templates configure it: everything in durable(), and the page for browsers. */
import { durable } from "../../src/worker/durable/index.ts";
import { edge, page } from "../../src/worker/index.ts";
import { makeServer } from "./ours-server.ts";

const app = edge(makeServer(), { use: [durable(), page()] });
export default app;
export const { McpObject } = app;

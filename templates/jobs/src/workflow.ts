/** The same Worker, with jobs run by a Cloudflare Workflow (`npm run start:workflow`). Clients do not see a difference. */
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import { workflows } from "mcp-edge/worker/workflows";
import { server } from "./jobs.ts";

// With `runMs: 0`, each ctx.step() is a step of the Workflow instance.
const app = edge(server, { use: [durable({ tasks: { runner: workflows(), runMs: 0 } }), page()] });

export default app;
/** The classes that wrangler.workflow.toml names. */
export class McpObject extends app.McpObject {}
export class McpTaskWorkflow extends app.McpTaskWorkflow {}
export { JobListObject } from "./job-list-object.ts";

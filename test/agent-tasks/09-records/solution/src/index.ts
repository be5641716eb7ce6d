import { DurableObject } from "cloudflare:workers";
import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

interface Env {
  readonly RECORDS: DurableObjectNamespace<Records>;
}

/** One record. */
export class Records extends DurableObject {
  set(text: string): number {
    const version = (this.ctx.storage.kv.get<number>("version") ?? 0) + 1;
    this.ctx.storage.kv.put("version", version);
    this.ctx.storage.kv.put("text", text);
    return version;
  }

  get(): string | undefined {
    return this.ctx.storage.kv.get<string>("text");
  }
}

const id = z.string().regex(/^[A-Za-z0-9]{1,100}$/);
const server = new McpServer<Env>({ name: "records", version: "1.0.0" });
server.tool(
  "set_record",
  {
    description: "Stores a record",
    input: z.object({ id, text: z.string().max(10_000) }),
    output: z.object({ version: z.number() }),
  },
  async (input, ctx) => {
    const version = await ctx.env.RECORDS.getByName(input.id).set(input.text);
    server.resourceUpdated(`record://${input.id}`);
    return { version };
  },
);
server.resourceTemplate("record://{id}", { name: "record" }, (_, variables, ctx) =>
  ctx.env.RECORDS.getByName(String(variables.id)).get(),
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}

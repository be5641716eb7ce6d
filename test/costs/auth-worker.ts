/** An endpoint with every part and `bearer()`, which counts the requests to its objects. */
import { env as bindings } from "cloudflare:workers";
import { McpServer } from "../../src/core/index.ts";
import { bearer } from "../../src/worker/access/auth/index.ts";
import { dpop } from "../../src/worker/access/dpop/index.ts";
import { durable } from "../../src/worker/durable/index.ts";
import { edge } from "../../src/worker/index.ts";

const { ISSUER: issuer } = bindings as unknown as { readonly ISSUER: string };

const server = new McpServer({ name: "counted", version: "1.0.0" });
server.tool("who", {}, (_, { auth }) => `${auth?.subject}`);
const app = edge(server, { use: [durable(), bearer({ issuer, dpop: dpop() })] });

let requests = 0;
export class McpObject extends app.McpObject {
  override callRole(...given: Parameters<InstanceType<typeof app.McpObject>["callRole"]>): Promise<unknown> {
    requests += 1;
    return super.callRole(...given);
  }

  override fetch(request: Request): Promise<Response> {
    requests += 1;
    return super.fetch(request);
  }
}

app.get("/requests", ({ json }) => json(requests));
export default app;

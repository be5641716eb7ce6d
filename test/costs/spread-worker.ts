/** A Worker with keys, once and tasks that counts the requests to each of its objects. */
import { McpServer, type Principal } from "../../src/core/index.ts";
import { authenticate, edge } from "../../src/worker/index.ts";
import { keys } from "../../src/worker/keys/index.ts";
import { once } from "../../src/worker/once/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { tasks } from "../../src/worker/tasks/index.ts";

interface Env {
  readonly MCP: DurableObjectNamespace;
}

const server = new McpServer({ name: "spread", version: "1.0.0" });
server.tool("plain", {}, () => "done");
server.tool("booking", { once: true }, () => "booked");
server.tool("long", { task: "required" }, () => "finished");

const auth = (): Principal => ({ issuer: "https://login.example.com", subject: "alice" });
const app = edge(server, { use: [sessions(), keys(), once(), tasks(), authenticate(auth)] });

/** Requests to each object, by its name or its id. */
let requests: Record<string, number> = {};

function watched(namespace: DurableObjectNamespace): DurableObjectNamespace {
  return new Proxy(namespace, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const made = Reflect.apply(value, target, given) as unknown;
        return property === "get" ? counted(made as DurableObjectStub) : made;
      };
    },
  });
}

function counted(stub: DurableObjectStub): DurableObjectStub {
  const key = stub.id.name ?? stub.id.toString();
  return new Proxy(stub, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        requests[key] = (requests[key] ?? 0) + 1;
        return Reflect.apply(value, target, given);
      };
    },
  });
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> {
    if (new URL(request.url).pathname !== "/requests")
      return app.fetch(request, { ...env, MCP: watched(env.MCP) }, ctx);
    const counts = requests;
    requests = {};
    return Response.json(counts);
  },
};
export class McpObject extends app.McpObject {}

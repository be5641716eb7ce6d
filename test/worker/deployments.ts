/** Starts the Worker of fixtures/deployments.ts, with a second isolate. */
import { newKeys, Workerd } from "../harness/workerd.ts";

export function startDeployments(): Promise<Workerd> {
  const names = ["Tenant", "Red", "Blue", "Facts", "Shop"];
  return Workerd.start({
    entry: "test/worker/fixtures/deployments.ts",
    objects: { MCP: "McpObject", ...Object.fromEntries(names.map((name) => [name.toUpperCase(), `${name}Object`])) },
    bindings: { MCP_KEYS: newKeys(), REGION: "west" },
    twin: true,
  });
}

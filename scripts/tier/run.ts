/** Runs all scenarios of the official suite against server and client, on workerd and on Node. */
import { serveHttp } from "../../src/node/serve-http.ts";
import { createReferenceServer } from "../../src/reference/server.ts";
import { edge } from "../../src/worker/edge.ts";
import { replay } from "../../src/worker/replay/index.ts";
import { newKeys, Workerd } from "../../test/harness/workerd.ts";
import { isCleanRun, runClientSuite } from "../official-client-suite.ts";
import {
  type Check,
  isClean,
  REQUIREMENTS,
  type Requirements,
  runRequirements,
  runScenario,
} from "../official-suite.ts";
import type { Outcome, Runtime } from "./assess.ts";
import type { ListedScenario } from "./requirements.ts";

/** Runs the server's scenarios on a runtime, including the scenarios of extensions. */
export async function runServer(runtime: Runtime, listed: readonly ListedScenario[]): Promise<Outcome[]> {
  const { url, stop } = await startServer(runtime);
  try {
    const outcomes: Outcome[] = [];
    for (const version of Object.keys(REQUIREMENTS) as Requirements[]) {
      for (const scenario of await runRequirements(url, version)) {
        const { name, checks } = scenario;
        outcomes.push({ leg: "server", runtime, version, name, isClean: isClean(scenario), checks: count(checks) });
      }
    }
    const known = new Set(outcomes.map(({ name }) => name));
    const others = listed.filter(({ leg, name, versions }) => {
      return leg === "server" && versions.includes("extension") && !known.has(name);
    });
    for (const { name } of others) {
      const checks = await runScenario(url, name);
      const scenario = { name, checks, isRequired: false, isOurs: false };
      const result = { isClean: isClean(scenario), checks: count(checks) };
      outcomes.push({ leg: "server", runtime, version: "extension", name, ...result });
    }
    return outcomes;
  } finally {
    await stop();
  }
}

/** Starts the reference server. The suite requires a loopback host name, not an address. */
async function startServer(runtime: Runtime): Promise<{ readonly url: string; stop(): Promise<void> }> {
  if (runtime === "workerd") {
    const worker = await Workerd.start({ entry: "src/reference/index.ts", objects: ["McpObject"] });
    return { url: `${worker.origin.replace("127.0.0.1", "localhost")}/mcp`, stop: () => worker.stop() };
  }
  const env = { MCP_KEYS: newKeys() };
  const app = edge(createReferenceServer(), { use: [replay()] });
  const serving = await serveHttp(app, { port: 0, env, log: () => {} });
  return { url: `${serving.origin.replace("127.0.0.1", "localhost")}/mcp`, stop: () => serving.close() };
}

/** Runs the client's scenarios on a runtime. */
export async function runClient(runtime: Runtime): Promise<Outcome[]> {
  const results = await runClientSuite(runtime);
  return results.map((result) => {
    const { version, name, checks, end } = result;
    const isClean = isCleanRun(result);
    const ended = isClean ? "" : `, the client ${end ?? "was cut off"}`;
    return {
      leg: "client",
      runtime,
      version,
      name,
      isClean,
      checks: `${count(checks)}${ended}`,
    };
  });
}

function count(checks: readonly Check[]): string {
  const statuses = ["SUCCESS", "FAILURE", "WARNING"] as const;
  return statuses.map((status) => checks.filter((check) => check.status === status).length).join("/");
}

/**
 * The program that the official suite starts as the client. The suite passes the address as the last argument, and the
 * name of the scenario in the environment. With `MCP_EDGE_CLIENT_WORKER`, the client runs in the Worker at that address.
 */
import { runScenario } from "./client-scenarios.ts";

const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const { MCP_EDGE_CLIENT_WORKER: worker } = process.env;
const url = process.argv.at(-1) ?? "";

if (worker === undefined) console.error(JSON.stringify(await runScenario(scenario, url, JSON.parse(context))));
else {
  const response = await fetch(worker, { method: "POST", body: JSON.stringify({ scenario, url, context }) });
  console.error(await response.text());
  if (!response.ok) process.exitCode = 1;
}

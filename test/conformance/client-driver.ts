/**
 * The program that the official suite starts as the client. The suite passes the address of its server as the last argument, and
 * the name of the scenario in the environment. The client itself waits at MCP_EDGE_CLIENT, on Node or in workerd, because this
 * program would load it again for each scenario.
 */
const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const { MCP_EDGE_CLIENT: client = "" } = process.env;
const url = process.argv.at(-1) ?? "";

const response = await fetch(client, { method: "POST", body: JSON.stringify({ scenario, url, context }) });
console.error(await response.text());
if (!response.ok) {
  console.error(`The client has failed in ${scenario}.`);
  process.exitCode = 1;
}

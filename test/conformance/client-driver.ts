/**
 * The program that the official suite starts as the client. The suite passes the address of its server as the last argument, and
 * the name of the scenario in the environment. The client itself runs in a server at MCP_EDGE_CLIENT, on Node or in workerd, so
 * that it is loaded once and not for each scenario.
 */
const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const { MCP_EDGE_CLIENT: client = "" } = process.env;
const url = process.argv.at(-1) ?? "";
/** After 30 seconds, the suite kills the shell that started this program, but not the program. So it ends by itself before. */
const LIMIT_MS = 25_000;

const body = JSON.stringify({ scenario, url, context });
const response = await fetch(client, { method: "POST", body, signal: AbortSignal.timeout(LIMIT_MS) });
console.error(await response.text());
console.error(response.ok ? "The client has finished." : "The client has failed.");
if (!response.ok) process.exitCode = 1;

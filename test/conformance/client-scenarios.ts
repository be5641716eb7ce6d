/** What our client does in the scenarios of the official suite, on any runtime. */
import { type Client, type ClientEvent, type ClientOptions, connect } from "../../src/client/index.ts";
import { SkillError, type SkillErrorReason, Skills } from "../../src/client/skills/index.ts";

import { type AuthScenarioContext, authOf } from "./auth-scenarios.ts";

type Drive = (client: Client, context: Context) => Promise<unknown>;

/** The part of the suite's context that the scenarios use. */
export interface Context extends AuthScenarioContext {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
}

/** Lists the tools, if the server has some: a request that it has not declared is not sent. */
async function list(client: Client) {
  return client.server.capabilities.tools ? client.tools().all() : [];
}

async function jsonSchemaEcho(client: Client): Promise<unknown> {
  const tool = (await list(client)).find(({ name }) => name === "json_schema_2020_12_tool");
  return client.callTool("json_schema_echo", { schema: tool?.inputSchema });
}

async function standardHeaders(client: Client): Promise<void> {
  await list(client);
  await client.callTool("test_headers");
  await client.resources().all();
  await client.readResource("file:///path/to/file%20name.txt");
  await client.prompts().all();
  await client.getPrompt("test_prompt");
}

async function customHeaders(client: Client, context: Context): Promise<void> {
  await list(client);
  for (const { name, arguments: args } of context.toolCalls ?? []) await client.callTool(name, args);
}

async function requestState(client: Client): Promise<void> {
  await list(client);
  const echo = client.callTool("test_mrtr_echo_state");
  await Promise.all([echo, client.callTool("test_mrtr_unrelated")]);
  await client.callTool("test_mrtr_no_state");
  await client.callTool("test_mrtr_no_result_type");
}

/** Loads the skill as a host does: a file that the manifest names is read only if the manifest is accepted. */
async function loadSkill(client: Client, reason: SkillErrorReason): Promise<void> {
  const skills = new Skills(client);
  for await (const skill of skills.list()) {
    const refusal = await skills.read(skill).catch((error: unknown) => error);
    if (!(refusal instanceof SkillError)) await skills.read(skill, "references/FORMS.md");
    else if (refusal.reason !== reason) throw refusal;
  }
}

async function callTestTool(client: Client): Promise<void> {
  await list(client);
  await client.callTool("test-tool");
}

/** What the client does in each scenario. */
const SCENARIOS: Readonly<Record<string, Drive>> = {
  initialize: list,
  tools_call: async (client) => {
    await list(client);
    await client.callTool("add_numbers", { a: 5, b: 3 });
  },
  "elicitation-sep1034-client-defaults": async (client) => {
    await list(client);
    await client.callTool("test_client_elicitation_defaults");
  },
  "sse-retry": async (client) => {
    await list(client);
    await client.callTool("test_reconnection");
  },
  "request-metadata": list,
  "http-standard-headers": standardHeaders,
  "http-custom-headers": customHeaders,
  "http-invalid-tool-headers": async (client) => {
    const names = (await list(client)).map(({ name }) => name);
    for (const name of names) await client.callTool(name, { region: "us-west1" });
  },
  "sep-2322-client-request-state": requestState,
  "json-schema-ref-no-deref": list,
  "json-schema-2020-12-preservation": jsonSchemaEcho,
  "sep-2640-client-no-prefetch": (client) => new Skills(client).list().all(),
  "sep-2640-client-verify-digest": (client) => loadSkill(client, "digest"),
  "sep-2640-client-verify-size": (client) => loadSkill(client, "size"),
  "sep-2640-client-verify-frontmatter": (client) => loadSkill(client, "frontmatter"),
};

/**
 * Connects to the server of a scenario and does what the scenario asks for.
 *
 * @throws {Error} if the scenario is unknown, so that it cannot pass without a request.
 */
export async function runScenario(name: string, url: string, context: Context): Promise<readonly ClientEvent[]> {
  const isAuth = name.startsWith("auth/");
  const drive = isAuth ? callTestTool : SCENARIOS[name];
  if (!drive) throw new Error(`unknown scenario "${name}"`);
  const events: ClientEvent[] = [];
  const options: ClientOptions = {
    name: "mcp-edge-conformance",
    version: "1.0.0",
    onElicit: () => ({ action: "accept" }),
    onEvent: (event) => events.push(event),
    ...(isAuth ? { auth: await authOf(name, context, url) } : {}),
  };
  const client = await connect(url, options);
  await drive(client, context);
  await client.close();
  return events;
}

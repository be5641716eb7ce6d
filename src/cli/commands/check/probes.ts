/**
 * The checks of mcp-edge. They cover what the official suite does not, in every protocol version and over every transport.
 *
 * @module
 */
import { type Client, ClientError, connect, McpError, type Tool } from "../../../client/index.ts";
import { SPOKEN_VERSIONS } from "../../../core/protocol/spoken-versions.ts";
import { formatError } from "../../exit.ts";
import { describeSize, findExceeded } from "../../host-profiles/find-limits.ts";
import { titleOf } from "../../host-profiles/profiles.ts";
import { closeInTime } from "../../server/connection.ts";
import { openTarget } from "../../server/open-target.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import type { ServerAddress } from "../../server/server-address.ts";
import { redactText } from "../../terminal/redact.ts";
import { untilInterrupted } from "../../terminal/signals.ts";
import { counted, type Terminal } from "../../terminal/terminal.ts";
import type { CheckRow, Status } from "./rows.ts";

/** The results of the checks in one protocol version. */
export interface Probed {
  readonly version: string;
  /** The names of the declared capabilities; undefined if the server does not support this version. */
  readonly capabilities?: ReadonlySet<string>;
  readonly rows: readonly CheckRow[];
}

/** A check on an open connection. Returns what it found, or throws an error if the check fails. */
type Check = (client: Client, signal: AbortSignal) => Promise<string | { readonly warning: string }>;

const CHECKS: Readonly<Record<string, Check>> = {
  lists: async (client, signal) => {
    const { capabilities } = client.server;
    const [tools, prompts, resources, templates] = await Promise.all([
      capabilities.tools ? client.tools({ signal }).all() : [],
      capabilities.prompts ? client.prompts({ signal }).all() : [],
      capabilities.resources ? client.resources({ signal }).all() : [],
      capabilities.resources ? client.resourceTemplates({ signal }).all() : [],
    ]);
    requireUnique(
      "tools",
      tools.map(({ name }) => name),
    );
    requireUnique(
      "prompts",
      prompts.map(({ name }) => name),
    );
    requireUnique(
      "resources",
      resources.map(({ uri }) => uri),
    );
    requireUnique(
      "resource templates",
      templates.map(({ uriTemplate }) => uriTemplate),
    );
    const kinds = { tool: tools, prompt: prompts, resource: resources, "resource template": templates };
    return Object.entries(kinds)
      .map(([noun, { length }]) => counted(length, noun))
      .join(", ");
  },
  "tool-definitions": async (client, signal) => {
    const tools = client.server.capabilities.tools ? await client.tools({ signal }).all() : [];
    for (const tool of tools) requireValidTool(tool);
    const silent = tools.filter(({ description = "" }) => description.trim() === "").map(({ name }) => name);
    if (silent.length > 0)
      return { warning: `These tools have no description, so models do not know what they do: ${silent.join(", ")}` };
    return `${counted(tools.length, "tool")} with schemas and descriptions`;
  },
  "host-limits": async (client, signal) => {
    const { capabilities, info, instructions } = client.server;
    const tools = capabilities.tools ? await client.tools({ signal }).all() : [];
    const exceeded = findExceeded({ tools, instructions, serverName: info?.name });
    const size = `tools/list has ${describeSize(tools)}`;
    if (exceeded.length === 0) return size;
    const texts = exceeded.map(({ hosts, what }) => `${hosts.map(titleOf).join(", ")}: ${what}`);
    return { warning: `${texts.join(" ")} ${size}` };
  },
  "unknown-method": async (client, signal) => {
    const code = await readErrorCode(client.request("mcp-edge/no-such-method", undefined, { signal }));
    if (code !== -32601)
      throw new Error(`A request for an unknown method must return error -32601, but returned ${code ?? "a result"}.`);
    return "refused with -32601";
  },
  "unknown-tool": async (client, signal) => {
    const call = { name: "mcp-edge-no-such-tool", arguments: {} };
    const result = client.request("tools/call", call, { signal });
    const code = await readErrorCode(result);
    if (code === -32602) return "refused with -32602";
    if (code !== undefined)
      return { warning: `A call of an unknown tool returns error ${code}; the specification says -32602.` };
    const isError = ((await result) as { isError?: unknown }).isError === true;
    if (!isError) throw new Error("A call of an unknown tool succeeds.");
    return { warning: "A call of an unknown tool returns a result with isError; the specification says error -32602." };
  },
};

/** @throws {Error} naming the duplicate. */
function requireUnique(what: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`The list of ${what} contains ${JSON.stringify(twice)} twice.`);
}

/** @see MCP 2025-11-25, server/tools, "Tool Names" and "Tool" */
function requireValidTool({ name, inputSchema, outputSchema }: Tool): void {
  if (!/^[\w.-]{1,128}$/.test(name)) {
    throw new Error(
      `The tool name ${JSON.stringify(name)} has more than 128 characters, or characters other than letters, digits, _, - and dots.`,
    );
  }
  if (inputSchema?.type !== "object") throw new Error(`The inputSchema of ${name} must have the type "object".`);
  const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: readonly string[] };
  const missing = required.find((each) => !Object.hasOwn(properties, each));
  if (missing !== undefined)
    throw new Error(`The inputSchema of ${name} lists ${JSON.stringify(missing)} as required but does not define it.`);
  if (outputSchema !== undefined && typeof outputSchema !== "object")
    throw new Error(`The outputSchema of ${name} is not an object.`);
}

/** Returns the error code of a response; undefined if the response is a result. */
async function readErrorCode(request: Promise<unknown>): Promise<number | undefined> {
  try {
    await request;
    return undefined;
  } catch (error) {
    if (McpError.is(error)) return error.code;
    throw error;
  }
}

/** Connects in one protocol version and runs the checks. */
export async function probeVersion(
  target: ServerAddress,
  version: string,
  options: ConnectionOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Probed> {
  const opened = await openTarget(target, { ...options, as: version }, terminal, { signal, mayAsk: terminal.canAsk });
  let client: Client | undefined;
  try {
    client = await untilInterrupted(connect(opened.target, opened.options), signal);
    const rows: CheckRow[] = [row(version, "connect", "passed", describe(client))];
    for (const [name, check] of Object.entries(CHECKS)) {
      if (name === "unknown-tool" && !client.server.capabilities.tools) continue;
      rows.push(await runCheck(name, check, client, version, signal));
    }
    return { version, capabilities: new Set(Object.keys(client.server.capabilities)), rows };
  } catch (error) {
    signal.throwIfAborted();
    // A server without a handshake refuses `initialize` like any unknown method.
    const refusal = client === undefined && McpError.is(error) ? `: ${redactText(formatError(error))}` : undefined;
    const isLacking = ClientError.is(error) && error.code === "version-unsupported";
    if (refusal === undefined && !isLacking) throw opened.explain(error);
    const detail = `the server does not support this version${refusal ?? ""}`;
    return { version, rows: [row(version, "connect", "not-applicable", detail)] };
  } finally {
    await closeInTime(client, opened.transport);
  }
}

function describe({ server }: Client): string {
  return `${server.info?.name ?? "a server without a name"} ${server.info?.version ?? ""}`.trim();
}

async function runCheck(
  name: string,
  check: Check,
  client: Client,
  version: string,
  signal: AbortSignal,
): Promise<CheckRow> {
  try {
    const found = await untilInterrupted(check(client, signal), signal);
    return typeof found === "string"
      ? row(version, name, "passed", found)
      : row(version, name, "warning", found.warning);
  } catch (error) {
    signal.throwIfAborted();
    return row(version, name, "failed", redactText(formatError(error)));
  }
}

function row(version: string, name: string, status: Status, detail: string): CheckRow {
  return { version, name, source: "mcp-edge", status, detail };
}

/** The protocol versions to check, oldest first. */
export const CHECKED_VERSIONS: readonly string[] = SPOKEN_VERSIONS.map(({ version }) => version).reverse();

/**
 * Instructions for connecting to a server: lines to paste, and links that add it to a host.
 *
 * @module
 */

/** One way to connect, by the name of the client. */
export type Way = readonly [client: string, text: string];

/** The facts on which the instructions depend. */
export interface Address {
  readonly url: string;
  /** The name of the server. */
  readonly name: string;
  /** The newest version that the server serves. */
  readonly version: string;
  readonly isModern: boolean;
}

/** Returns a name that shells, command lines and configuration files accept. */
function plainName(name: string): string {
  // A name that begins with a dash would be an option.
  return name.replaceAll(/[^\w-]+/g, "-").replace(/^-+/, "") || "mcp";
}

/** Returns a shell command for each client. */
export function commands({ url, name, version, isModern }: Address): readonly Way[] {
  // Quoted for the shell. A single quote inside the URL is percent-encoded.
  const address = /^[\w.:/%@+,=-]*$/.test(url) ? url : `'${url.replaceAll("'", "%27")}'`;
  const clientInfo = { name: "curl", version: "1" };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const [method, params, headers] = isModern
    ? ["tools/list", { _meta }, ` -H 'MCP-Protocol-Version: ${version}' -H 'Mcp-Method: tools/list'`]
    : ["initialize", { protocolVersion: version, capabilities: {}, clientInfo }, ""];
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return [
    ["curl", `curl ${address} -H 'Content-Type: application/json'${headers} -d '${message}'`],
    ["Inspector", `npx @modelcontextprotocol/inspector --transport http --server-url ${address}`],
    ["Claude Code", `claude mcp add --transport http ${plainName(name)} ${address}`],
  ];
}

/**
 * Returns a link for each host that has a form of links to add a server. The host asks its user before it adds anything.
 *
 * @see https://cursor.com/docs/mcp/install-links
 * @see https://code.visualstudio.com/api/extension-guides/ai/mcp
 */
export function links({ url, name: given }: Address): readonly Way[] {
  const name = plainName(given);
  const config = encodeURIComponent(btoa(JSON.stringify({ url })));
  const server = encodeURIComponent(JSON.stringify({ name, type: "http", url }));
  return [
    ["Cursor", `cursor://anysphere.cursor-deeplink/mcp/install?name=${name}&config=${config}`],
    ["VS Code", `vscode:mcp/install?${server}`],
  ];
}

/** Returns the entry of a configuration file, in the format that most hosts share. */
export function configuration({ url, name }: Address): string {
  return JSON.stringify({ mcpServers: { [plainName(name)]: { type: "http", url } } }, null, 2);
}

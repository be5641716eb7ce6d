/**
 * mcp-edge/client/host: several servers from one configuration, each with a client.
 *
 * @example
 * ```ts
 * import { openHost } from "mcp-edge/client/host";
 *
 * const config = { mcpServers: { docs: { url: "https://docs.example/mcp" }, wiki: { url: "https://wiki.example/mcp" } } };
 * const host = await openHost(config, { client: { name: "my-app", version: "1.0.0" } });
 * for (const { name, tool } of await host.tools()) console.log(name, tool.description);
 * await host.close();
 * ```
 *
 * @module
 */

export type { HostOptions, HostTool } from "./host.ts";
export { Host, openHost } from "./host.ts";
export type {
  CommandServer,
  ConfiguredServer,
  ConfigVariables,
  UrlServer,
} from "./server-config.ts";

/**
 * `mcp-edge ping`: measures how long connecting and one request take.
 *
 * @module
 */
import type { Client } from "../../../client/index.ts";
import { findSpoken } from "../../../core/protocol/spoken-versions.ts";
import { Exit } from "../../exit.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { printJson } from "../../terminal/show.ts";
import { oneLine } from "../../terminal/terminal.ts";

/** Runs the command and returns its exit code. */
export function pingServer(server: string, options: ConnectionOptions): Promise<number> {
  const startMs = performance.now();
  return withClient(server, options, noHandlers, async ({ client, terminal, signal }) => {
    const connectMs = Math.round(performance.now() - startMs);
    const sentMs = performance.now();
    await sendPing(client, signal);
    const pingMs = Math.round(performance.now() - sentMs);
    const { info, protocolVersion, transport } = client.server;
    if (options.json) printJson(terminal, { connectMs, pingMs, protocolVersion, transport, info });
    else {
      const name = `${oneLine(info?.name ?? "The server")} ${oneLine(info?.version ?? "")}`.trim();
      terminal.print(
        `${name} responded in ${pingMs} ms (connected in ${connectMs} ms, ${protocolVersion}, ${transport})`,
      );
    }
    return Exit.ok;
  });
}

/** Sends `ping`, or `server/discover` to a modern server, which has no `ping`. */
async function sendPing(client: Client, signal: AbortSignal): Promise<void> {
  if (findSpoken(client.server.protocolVersion)?.era === "modern")
    await client.request("server/discover", undefined, { signal });
  else await client.ping({ signal });
}

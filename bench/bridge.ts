/**
 * The time to the first answer of bridges from stdio to HTTP: from the start of the process to the answer to `initialize`.
 *
 * The bridges take turns, so that a change of the machine's load meets both. Each starts as a host starts it: by Node, from
 * its installed files, without npx. The server is in this process and answers at once, so its time is the same for both.
 *
 *     npm --prefix bench ci && npm run build && npm --prefix bench run bridge -- --runs 15
 *
 * @module
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { runs: { type: "string", default: "15" } } });

const require = createRequire(import.meta.url);
const peer = require.resolve("mcp-remote/package.json");
const { bin, version } = require(peer) as { bin: Record<string, string>; version: string };

const BRIDGES: Readonly<Record<string, (url: string) => string[]>> = {
  "mcp-edge bridge": (url) => [join(import.meta.dirname, "../bin/mcp-edge.js"), "bridge", url],
  [`mcp-remote ${version}`]: (url) => [join(dirname(peer), bin["mcp-remote"] ?? ""), url],
};

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
};

/** A legacy server that answers at once. */
const server = createServer(async (request, response) => {
  const text = (await request.toArray()).join("");
  const { id, method } = text === "" ? {} : (JSON.parse(text) as { id?: number; method?: string });
  if (request.method === "DELETE") return void response.writeHead(200).end();
  if (request.method !== "POST") return void response.writeHead(405).end();
  if (id === undefined) return void response.writeHead(202).end();
  const initialized = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "s", version: "1" },
  };
  const answer = method === "initialize" ? { result: initialized } : { error: { code: -32601, message: "no" } };
  const headers = { "Content-Type": "application/json", "Mcp-Session-Id": "s1" };
  response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;

/** Starts a bridge, asks it, and returns the milliseconds until it has answered. */
async function measure(args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  let output = "";
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.includes("\n")) break;
  }
  const ms = performance.now() - startMs;
  if (!output.includes('"serverInfo"')) throw new Error(`${args.join(" ")} answered: ${output}`);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  return ms;
}

const times = new Map(Object.keys(BRIDGES).map((name) => [name, [] as number[]]));
for (let run = 0; run <= Number(values.runs); run += 1) {
  for (const [name, args] of Object.entries(BRIDGES)) {
    const ms = await measure(args(url));
    // The first round fills the caches of the file system.
    if (run > 0) times.get(name)?.push(ms);
  }
}
for (const [name, list] of times) {
  const sorted = list.sort((a, b) => a - b).map((ms) => Math.round(ms));
  const median = sorted[Math.floor(sorted.length / 2)];
  console.log(`${name}: ${median} ms (median of ${sorted.length}; ${sorted[0]} to ${sorted.at(-1)} ms)`);
}
server.close();
server.closeAllConnections();

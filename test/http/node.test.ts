/** The core and `src/http/` on Node, unchanged: the ladder, every protocol version, and the official clients. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createHttpHandler } from "../../src/http/handler.ts";
import { createReferenceServer } from "../../src/reference/server.ts";
import { newKeys } from "../harness/workerd.ts";
import { auth, createLab } from "../worker/fixtures/lab.ts";
import { LADDER } from "./ladder.ts";
import { expectAnswer, filled } from "./ladder-check.ts";
import type { Endpoint, Row } from "./ladder-row.ts";
import { LEGACY_VERSIONS } from "./messages.ts";
import { type NodeServer, startNodeServer } from "./node-server.ts";
import { problemsOf, send } from "./wire.ts";

let node: NodeServer;
const reports: unknown[] = [];

beforeAll(async () => {
  const quiet = { onError: (error: unknown) => void reports.push(error) };
  const lab = (name: string, options: Partial<Parameters<typeof createHttpHandler<unknown>>[1]> = {}) =>
    createHttpHandler(createLab(name), { ...quiet, ...options });
  node = await startNodeServer(
    {
      "/mcp": createHttpHandler(createReferenceServer(), quiet),
      "/tools/mcp": lab("tools"),
      "/private/mcp": lab("private", { auth: (request) => (auth(request) === "anonymous" ? null : auth(request)) }),
      "/listed/mcp": lab("listed", { allowedHosts: ["mcp.example.com"], allowedOrigins: ["https://app.example.com"] }),
      "/open/mcp": lab("open", { allowedHosts: ["mcp.example.com"], allowedOrigins: ["*"] }),
      "/small/mcp": lab("small", { limits: { bodyBytesMax: 1000, bodyDepthMax: 8, bodyValuesMax: 100, batchMax: 3 } }),
    },
    { MCP_KEYS: newKeys() },
  );
});

afterEach(() => {
  expect(node.failures).toEqual([]);
});

afterAll(() => node.stop());

const PATHS: Readonly<Record<Exclude<Endpoint, "lab">, string>> = {
  reference: "/mcp",
  plain: "/tools/mcp",
  private: "/private/mcp",
  listed: "/listed/mcp",
  open: "/open/mcp",
  small: "/small/mcp",
};

/** An endpoint without sessions ignores session ids of any other. */
const FOREIGN = new Map(LEGACY_VERSIONS.map((version) => [version, "of-another-deployment"]));

/** Sessions live in Durable Objects, so rows about them are left out. */
const ROWS = LADDER.flatMap((row) => (row.at === "lab" || row.isOfSessions ? [] : [{ ...row, path: PATHS[row.at] }]));

describe("the ladder of requests and responses on Node", () => {
  test.each(ROWS.map((row): [string, Row & { path: string }] => [`${row.era}: ${row.cell}`, row]))(
    "holds for %s",
    async (_, { ask: raw, path, expected }) => {
      const ask = filled({ path, ...raw }, node.origin, FOREIGN);
      const answer = await send(node.origin, ask);
      expectAnswer(expected, ask, answer);
      expect(problemsOf(ask, answer)).toEqual([]);
    },
  );
});

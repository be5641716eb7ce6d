/** The routes of the recorder, as any client that reaches the port can call them. */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RecordingProxy } from "../../src/node/record/proxy/recording-proxy.ts";
import { recordingRoutes } from "../../src/node/record/recording-routes.ts";
import { createRoutes } from "../../src/node/record/routes.ts";
import { createRecorder } from "./behind-proxy.ts";

const recorder = createRecorder();
/** The targets of the requests that reached the server. */
const reached: string[] = [];
const faults: unknown[] = [];
let server: Server;
let proxy: RecordingProxy;
let port: number;

beforeAll(async () => {
  server = createServer(({ url }, response) => {
    reached.push(url ?? "");
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: inside } = server.address() as AddressInfo;
  const info = () => ({
    mode: "dev" as const,
    endpoint: { url: `http://127.0.0.1:${port}/mcp`, path: "/mcp" },
    contents: true,
    faults: false,
    version: "0",
  });
  const routes = createRoutes({
    ...recordingRoutes(recorder, info, () => undefined),
    info,
    objects: async () => [],
    causeFault: async (fault) => {
      faults.push(fault);
      return { done: true, text: "" };
    },
  });
  proxy = new RecordingProxy({
    recorder,
    connect: () => connect({ host: "127.0.0.1", port: inside, allowHalfOpen: true }),
    inside: routes,
    hasTail: false,
  });
  port = await proxy.listen(["127.0.0.1"], 0);
});
afterAll(() => Promise.all([proxy.close(), server.close()]));

/** Sends a raw request, and returns the status and the body of the response. */
function send(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): Promise<{ readonly status: number; readonly text: string }> {
  const [method = "", path = ""] = line.split(" ");
  const named = Object.entries(headers).map(([name, value]) => [name, value.replace("PORT", String(port))]);
  const options = { host: "127.0.0.1", port, method, path, headers: Object.fromEntries(named), agent: false };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (data) => (text += data));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject).setTimeout(10_000, () => sent.destroy(new Error("no response")));
    sent.end(body);
  });
}

const INFO = "GET /__mcp-edge/api/info";
const DEV = { "Mcp-Edge-Dev": "1" };

test.each([
  ["a loopback address", {}, 200],
  ["a loopback name", { Host: "my.localhost:PORT" }, 200],
  ["IPv6", { Host: "[::1]:PORT" }, 200],
  ["from its own page", { Origin: "http://127.0.0.1:PORT", "Sec-Fetch-Site": "same-origin" }, 200],
  ["another host name", { Host: "evil.example:PORT" }, 403],
  ["a host name that begins like a loopback address", { Host: "127.0.0.1.evil.example" }, 403],
  ["a host name that begins like localhost", { Host: "localhost.evil.example" }, 403],
  ["a host with a user name", { Host: "evil@localhost" }, 403],
  ["from another origin", { Origin: "http://evil.example" }, 403],
  ["from another port of this machine", { Origin: "http://127.0.0.1:1" }, 403],
  ["from the same host with HTTPS", { Origin: "https://127.0.0.1:PORT" }, 403],
  ["from a frame with an opaque origin", { Origin: "null" }, 403],
  ["from a link on another site", { "Sec-Fetch-Site": "cross-site" }, 403],
  ["from another host of the same site", { "Sec-Fetch-Site": "same-site" }, 403],
])("a request (%s) with %o gets %i", async (_, headers, status) => {
  expect((await send(INFO, headers)).status).toBe(status);
});

test.each([
  ["POST /__mcp-edge/api/clear", {}, "", 403],
  ["POST /__mcp-edge/api/clear", { "Mcp-Edge-Dev": "0" }, "", 403],
  ["POST /__mcp-edge/api/faults", { "Content-Type": "text/plain" }, '{"kind":"kill"}', 403],
  ["POST /__mcp-edge/api/faults", { ...DEV, Origin: "http://evil.example" }, '{"kind":"kill"}', 403],
  ["POST /__mcp-edge/api/faults", DEV, "{", 400],
  ["POST /__mcp-edge/api/faults", DEV, '{"kind":"rm"}', 400],
  ["POST /__mcp-edge/api/faults", DEV, '{"kind":"clock","ms":1e99}', 400],
  ["POST /__mcp-edge/api/faults", DEV, '{"kind":"evict","object":"../x"}', 400],
  ["POST /__mcp-edge/api/recording", DEV, '{"format":"har"}', 400],
  ["POST /__mcp-edge/api/recording", DEV, "[[[", 400],
  ["POST /__mcp-edge/api/compare", DEV, '{"a":"1","b":{"toString":1}}', 400],
  ["DELETE /__mcp-edge/api/entries", DEV, "", 405],
  ["OPTIONS /__mcp-edge/api/clear", { "Access-Control-Request-Headers": "mcp-edge-dev" }, "", 403],
  ["GET /__mcp-edge/api/entries/99999999999999999999999", {}, "", 404],
  ["GET /__mcp-edge/api/entries/__proto__", {}, "", 404],
  ["GET /__mcp-edge/constructor", {}, "", 404],
  ["GET /__mcp-edge/../../package.json", {}, "", 404],
  ["GET /__mcp-edge/%2e%2e%2fpackage.json", {}, "", 404],
])("%s with %o and the body %j returns %i", async (line, headers, body, status) => {
  const { text, ...response } = await send(line, headers, body);
  expect(response.status).toBe(status);
  expect(JSON.parse(text)).toEqual({ problem: expect.any(String) });
});

test("these requests did not reach the server, and injected no fault", () => {
  expect([reached, faults]).toEqual([[], []]);
});

test("a malicious recording is imported as data: its values are truncated, and no prototype changes", async () => {
  let deep: unknown = "end";
  for (let depth = 0; depth < 2_000; depth += 1) deep = { a: deep };
  const evil = '"><script>alert(1)</script>\u001b[2J`$';
  const entry = {
    ...{ id: evil, kind: "request", method: evil, target: evil, outcome: evil, outcomeText: evil, marks: [evil] },
    ...{ http: { method: evil, path: evil, status: Number.POSITIVE_INFINITY }, client: { name: evil, version: evil } },
    ...{ messages: [{ from: "client", message: deep }], counts: { rowsRead: -1 }, related: [{ id: "1", why: evil }] },
  };
  const text = JSON.stringify({ format: "mcp-edge-recording", formatVersion: 1, entries: [entry] });
  const body = text.replace('"kind"', '"__proto__":{"polluted":true},"kind"');
  const imported = await send("POST /__mcp-edge/api/recording", DEV, body);
  expect(imported.status).toBe(200);
  const { firstId } = JSON.parse(imported.text) as { firstId: string };
  const shown = JSON.parse((await send(`GET /__mcp-edge/api/entries/${firstId}`)).text);
  expect(shown).toMatchObject({ id: firstId, outcome: "ok", marks: [], related: [], counts: { rowsRead: 0 } });
  expect(JSON.stringify(shown).length).toBeLessThan(3_000);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  for (const what of ["curl", "test"]) {
    expect([200, 409]).toContain((await send(`GET /__mcp-edge/api/entries/${firstId}/${what}`)).status);
  }
});

import { afterEach, describe, expect, test } from "vitest";
import { KitError, McpError, McpServer, UrlElicitationRequiredError } from "../../src/core/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type PeerOptions,
  resultOf,
} from "./peer.ts";

afterEach(closePeers);

const capabilities = { elicitation: { url: {} } };
const FILES = { message: "Open your files", url: "https://files.example/connect" };
const MAIL = { message: "Open your mail", url: "https://mail.example/connect", elicitationId: "mail-1" };
const OLDER = LEGACY_VERSIONS.filter((version) => version !== "2025-11-25");

const REQUESTS: readonly [string, Json][] = [
  ["tools/call", { name: "sync", arguments: {} }],
  ["prompts/get", { name: "sync" }],
  ["resources/read", { uri: "sync://all" }],
];

function newServer(list: ConstructorParameters<typeof UrlElicitationRequiredError>[0] = [FILES, MAIL]) {
  const fail = (): never => {
    throw new UrlElicitationRequiredError(list, "Sign in first.");
  };
  return new McpServer({ name: "sync", version: "1.0.0" })
    .tool("sync", {}, fail)
    .prompt("sync", { arguments: [{ name: "at" }], complete: { at: fail } }, fail)
    .resource("sync://all", { name: "all" }, fail)
    .method("example/sync", fail);
}

async function request(version: string, method: string, params: Json, options: PeerOptions = {}) {
  const peer = await openPeer(newServer(), version, { capabilities, judgeClient: false, ...options });
  const response = await peer.request(method, params);
  expect(peer.reports).toEqual([]);
  return response;
}

const urlOf = ({ message, url }: typeof FILES) => ({ mode: "url", message, url });

describe.each(REQUESTS)("UrlElicitationRequiredError in %s", (method, params) => {
  test("is returned as -32042 with the elicitations in 2025-11-25, each with an id", async () => {
    const error = errorOf(await request("2025-11-25", method, params));
    expect(error).toEqual({
      code: -32042,
      message: "Sign in first.",
      data: {
        elicitations: [
          { ...urlOf(FILES), elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
          { ...urlOf(MAIL), elicitationId: "mail-1" },
        ],
      },
    });
  });

  test("is returned as input_required with the URLs in 2026-07-28", async () => {
    const result = resultOf(await request(MODERN_VERSION, method, params));
    expect(result).toMatchObject({ resultType: "input_required" });
    expect(result.inputRequests).toEqual({
      "url-1": { method: "elicitation/create", params: urlOf(FILES) },
      "url-2": { method: "elicitation/create", params: urlOf(MAIL) },
    });
  });

  test("is returned as -32021 in 2026-07-28 if the client lacks URL mode", async () => {
    const error = errorOf(await request(MODERN_VERSION, method, params, { capabilities: { elicitation: {} } }));
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } });
  });

  test.each(OLDER)("is returned in %s as an error that contains message and URL", async (version) => {
    const response = await request(version, method, params);
    const text =
      method === "tools/call" ? (resultOf(response).content as { text: string }[])[0]?.text : errorOf(response).message;
    expect(text).toBe(`Sign in first.\n${FILES.message}: ${FILES.url}\n${MAIL.message}: ${MAIL.url}`);
    if (method === "tools/call") expect(resultOf(response).isError).toBe(true);
    else expect(errorOf(response).code).toBe(-32603);
  });
});

test("in 2026-07-28 the handler runs again after the URL was opened", async () => {
  const server = new McpServer({ name: "sync", version: "1.0.0" }).tool("sync", {}, (_, ctx) => {
    if (!ctx.inputResponses["url-1"]) throw new UrlElicitationRequiredError([FILES]);
    return "synced";
  });
  const peer = await openPeer(server, MODERN_VERSION, { capabilities });
  resultOf(await peer.request("tools/call", { name: "sync" }));
  const again = { name: "sync", inputResponses: { "url-1": { action: "accept" } } };
  expect(resultOf(await peer.request("tools/call", again)).content).toEqual([{ type: "text", text: "synced" }]);
});

test.each([
  ["completion/complete", { ref: { type: "ref/prompt", name: "sync" }, argument: { name: "at", value: "" } }],
  ["example/sync", {}],
])("%s cannot return a question: in 2026-07-28 it returns an error with message and URL", async (method, params) => {
  const error = errorOf(await request(MODERN_VERSION, method, params, { judgeClient: false }));
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(`${FILES.message}: ${FILES.url}`) });
});

test.each(ALL_VERSIONS)("in %s hooks see the result that the client gets", async (version) => {
  const seen: unknown[] = [];
  const server = new McpServer({
    name: "sync",
    version: "1.0.0",
    around: [
      async (data, next) => {
        const ended = next();
        if (data.method === "tools/call") await ended.catch(() => {}).then(() => seen.push(data.error ?? data.result));
        return ended;
      },
    ],
  }).tool("sync", {}, () => {
    throw new UrlElicitationRequiredError([FILES]);
  });
  const peer = await openPeer(server, version, { capabilities, judgeClient: false });
  const response = await peer.request("tools/call", { name: "sync" });
  if ("error" in response) expect(seen).toMatchObject([{ code: -32042 }]);
  else expect(seen).toMatchObject([version === MODERN_VERSION ? { resultType: "input_required" } : { isError: true }]);
});

test("an McpError with the code -32042 that an author throws is sent unchanged", async () => {
  const server = new McpServer({ name: "sync", version: "1.0.0" }).tool("sync", {}, () => {
    throw new McpError(-32042, "mine", { elicitations: [] });
  });
  const peer = await openPeer(server, "2025-11-25");
  const error = errorOf(await peer.request("tools/call", { name: "sync" }));
  expect(error).toEqual({ code: -32042, message: "mine", data: { elicitations: [] } });
});

test("an invalid URL throws when the error is created", () => {
  expect(() => new UrlElicitationRequiredError([{ message: "Go", url: "nowhere" }])).toThrow(KitError);
});

test("over stdio and in memory a notification of the completion follows the error, in 2025-11-25 only", async () => {
  for (const version of LEGACY_VERSIONS) {
    const server = newServer();
    const peer = await openPeer(server, version, { capabilities, judgeClient: false });
    await peer.request("tools/call", { name: "sync" });
    server.elicitationComplete("mail-1");
    await peer.request("ping");
    const complete = { method: "notifications/elicitation/complete", params: { elicitationId: "mail-1" } };
    expect(peer.notifications, version).toMatchObject(version === "2025-11-25" ? [complete] : []);
  }
});

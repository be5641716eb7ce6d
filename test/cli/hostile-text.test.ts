// @module-tag long
/** Text of a hostile server never reaches the terminal as a control character. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KEYS, Screen } from "./pty.ts";
import { cli } from "./run.ts";

/** Every control and format character except line break, carriage return and tab, and what else is invisible when displayed. */
const CHARACTERS = [...Array(0xe1000).keys()]
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /(?![\n\r\t])\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}|[\u2028\u2029]/u.test(character))
  // Hundreds of equal neighbours would only make the text long.
  .filter((character, at) => (character.codePointAt(0) ?? 0) < 0x1_0000 || at % 97 === 0);
/** Escape sequences that write to the clipboard, clear the screen, set a title and show a link. */
const SEQUENCES =
  "\u001b]52;c;b3duZWQ=\u0007\u001b[2J\u001b]0;owned\u001b\\\u001b]8;;https://evil.example\u001b\\\u009b2J\u0090q\u009c";
/** A line that would look like one of this program. */
const FORGED = "mcp-edge: Your session has expired.";
const BAD = `x${SEQUENCES}${CHARACTERS.join("")}y${["\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"].map((end) => end + FORGED).join("")}\n\n`;
/** What this program writes by itself: colours, and the removal of a line of progress. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the escape sequences that are allowed.
const OWN = /\u001b\[(?:\d{1,2}m)|\r\u001b\[2K/g;

/** Returns the characters of an output that could control a terminal or hide text, as code points. */
function dangerous(output: string): string[] {
  const found =
    output.replace(OWN, "").match(/(?![\n\t])\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}|[\u2028\u2029]/gu) ?? [];
  return [...new Set(found)].map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16)}`);
}

/** Schemas in which every text is hostile. */
const SCHEMA = {
  type: "object",
  title: BAD,
  description: BAD,
  properties: {
    a: { type: "string", title: BAD, description: BAD, default: BAD, enum: ["a", BAD], format: BAD },
    [BAD]: { type: BAD, description: BAD },
  },
  required: [BAD],
};
const ICONS = [{ src: BAD, mimeType: BAD, sizes: [BAD] }];
const NAMED = { name: `n${BAD}`, title: BAD, description: BAD, icons: ICONS };
const BLOCKS = [
  { type: "text", text: BAD },
  { type: "image", data: "AA==", mimeType: BAD },
  { type: "audio", data: "AA==", mimeType: BAD },
  { type: "resource_link", uri: `x:${BAD}`, ...NAMED, mimeType: BAD },
  { type: "resource", resource: { uri: `x:${BAD}`, mimeType: BAD, text: BAD } },
  { type: "resource", resource: { uri: `x:${BAD}`, mimeType: BAD, blob: "AA==" } },
];
const TASK = {
  taskId: `t${BAD}`,
  status: "working",
  statusMessage: BAD,
  createdAt: BAD,
  lastUpdatedAt: BAD,
  ttl: null,
};
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    serverInfo: { name: `s${BAD}`, version: BAD, title: BAD, websiteUrl: BAD, icons: ICONS },
    instructions: BAD,
  },
  "tools/list": {
    tools: [
      { ...NAMED, inputSchema: SCHEMA, outputSchema: SCHEMA, annotations: { title: BAD } },
      { name: "t", description: BAD, inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
    ],
  },
  "tools/call": { content: BLOCKS, structuredContent: { [BAD]: BAD } },
  "prompts/list": {
    prompts: [
      { name: "p", description: BAD },
      { ...NAMED, arguments: [{ ...NAMED, required: false }] },
    ],
  },
  "prompts/get": {
    description: BAD,
    messages: [
      ...BLOCKS.map((content) => ({ role: "user", content })),
      { role: BAD, content: { type: BAD, [BAD]: BAD } },
    ],
  },
  "resources/list": { resources: [{ uri: `x:${BAD}`, ...NAMED, mimeType: BAD }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: `x:${BAD}`, ...NAMED, mimeType: BAD }] },
  "resources/read": {
    contents: [
      { uri: `x:${BAD}`, mimeType: BAD, text: BAD },
      { uri: `y:${BAD}`, mimeType: BAD, blob: "AA==" },
    ],
  },
  "completion/complete": { completion: { values: [BAD], total: 1 } },
  "tasks/list": { tasks: [TASK] },
  "tasks/get": TASK,
  "tasks/cancel": { ...TASK, status: "cancelled" },
  ping: {},
  "logging/setLevel": {},
};

/** Messages that come before every response. */
const NOTICES = [
  { method: "notifications/message", params: { level: BAD, logger: BAD, data: BAD } },
  { method: "notifications/message", params: { level: "info", logger: BAD, data: { [BAD]: BAD } } },
  { method: `custom/${BAD}`, params: { [BAD]: BAD } },
];

let server: Server;
let url: string;
let answersWith: "results" | "errors" | "refusals" = "results";
/** A question that the server asks before it returns the result of a call. */
let question: object | undefined;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse((await request.toArray()).join(""));
    const { id, method, params } = message;
    if (method === undefined || id === undefined) return void response.writeHead(202).end();
    const isFailing = answersWith !== "results" && method !== "initialize" && method !== "tools/list";
    if (isFailing && answersWith === "refusals") {
      return void response.writeHead(500, { "Content-Type": "text/plain" }).end(BAD);
    }
    const error = { code: -32000, message: BAD, data: { [BAD]: BAD } };
    const answer =
      method === "server/discover" || isFailing
        ? { error: method === "server/discover" ? { code: -32601, message: BAD } : error }
        : { result: RESULTS[method] ?? {} };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const send = (each: object) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...each })}\n\n`);
    const token = params?._meta?.progressToken;
    if (method !== "initialize") for (const notification of NOTICES) send(notification);
    if (token !== undefined)
      send({ method: "notifications/progress", params: { progressToken: token, progress: 1, message: BAD } });
    if (question && method === "tools/call") send({ id: "q", ...question });
    else {
      send({ id, ...answer });
      response.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dirname(LOCK), { recursive: true, force: true });
});

/** A lock file that differs from the server in everything, so that every definition is printed. */
const LOCK = join(mkdtempSync(join(tmpdir(), "mcp-edge-hostile-")), "mcp.lock.json");
writeFileSync(LOCK, '{"lock":1}');

const COMMANDS: readonly (readonly string[])[] = [
  ["list", "URL"],
  ["list", "URL", "--json"],
  ["list", "URL", "--debug"],
  ["ping", "URL"],
  ["call", "URL", "t"],
  ["call", "URL", "t", "--json"],
  ["call", "URL", "t", "--debug"],
  ["call", "URL", "t", "--help"],
  ["call", "URL", `n${BAD}`],
  ["call", "URL", `n${BAD}`, "--help"],
  ["call", "URL", "tt"],
  ["read", "URL", "x:1"],
  ["read", "URL", "x:1", "--json"],
  ["prompt", "URL", "p"],
  ["prompt", "URL", "p", "--json"],
  ["prompt", "URL", `n${BAD}`, "--help"],
  ["complete", "URL", "p", "a", "b"],
  ["tasks", "URL"],
  ["tasks", "URL", "get", "t"],
  ["tasks", "URL", "cancel", "t"],
  ["listen", "URL", "--count", "2"],
  ["listen", "URL", "--count", "3", "--json"],
  ["types", "URL"],
  ["server-json", "URL", "--print", "--name", "io.github.me/lab", "--url", "https://example.com/mcp"],
  ["check", "URL", "--no-suite"],
  ["check", "URL", "--lock", LOCK],
  ["lock", "URL", "--out", LOCK],
];

describe.each(["results", "errors", "refusals"] as const)("a server that sends hostile %s", (kind) => {
  // A server that refuses every request reports nothing to listen to.
  const commands = COMMANDS.filter(([name]) => name !== "listen" || kind !== "refusals");
  test.each(commands)(
    "cannot make mcp-edge %s %s %s %s %s %s write a control character to a terminal, or a line that imitates the program",
    async (...given) => {
      const args = given.filter((each) => each !== undefined).map((each) => (each === "URL" ? url : each));
      answersWith = kind;
      try {
        const ran = await cli([...args, "--timeout", "5000"].slice(0, args[0] === "check" ? -2 : undefined), {
          isTerminal: true,
          env: { TERM: "xterm" },
        });
        expect([dangerous(ran.stdout), dangerous(ran.stderr)]).toEqual([[], []]);
        expect(ran.stderr.split("\n").filter((line) => line.replace(OWN, "").startsWith(FORGED))).toEqual([]);
      } finally {
        answersWith = "results";
      }
    },
  );
});

test("--debug does not change the outcome when a message is nested too deeply to be shown", async () => {
  const [before, { "resources/list": listed }] = ["[".repeat(20_000), RESULTS];
  const deep = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await request.toArray()).join("") || "{}");
    if (id === undefined) return void response.writeHead(request.method === "POST" ? 202 : 405).end();
    const error = { error: { code: -32601, message: "unknown" } };
    const answer =
      method === "server/discover" ? error : { result: method === "resources/list" ? listed : RESULTS[method] };
    const nested = method === "tools/list" ? `,"x":${before}${"]".repeat(20_000)}` : "";
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${JSON.stringify(answer).slice(1, -1)}${nested}}`);
  });
  await new Promise<void>((resolve) => deep.listen(0, "127.0.0.1", resolve));
  try {
    const at = `http://127.0.0.1:${(deep.address() as AddressInfo).port}/mcp`;
    const plain = await cli(["list", at, "tools"]);
    const debugged = await cli(["list", at, "tools", "--debug"]);
    expect([debugged.code, debugged.stdout]).toEqual([plain.code, plain.stdout]);
    expect(debugged.stderr).toContain("characters that cannot be displayed");
  } finally {
    deep.closeAllConnections();
    deep.close();
  }
});

describe("questions of a hostile server", () => {
  const SAMPLE = {
    method: "sampling/createMessage",
    params: {
      messages: [
        { role: BAD, content: { type: BAD } },
        { role: "user", content: { type: "text", text: BAD } },
      ],
      systemPrompt: BAD,
      maxTokens: BAD,
    },
  };
  const FORM = { method: "elicitation/create", params: { message: BAD, requestedSchema: { ...SCHEMA, required: [] } } };
  const PAGE = {
    method: "elicitation/create",
    params: { mode: "url", elicitationId: "e", message: BAD, url: `https://example.com/${BAD}` },
  };

  test.each([
    ["a sample", SAMPLE, "Write the model's answer"],
    ["a form", FORM, "Do you want to answer"],
    ["a page", PAGE, "Do you want to visit"],
  ])("a question about %s is shown without escape sequences and invisible text", async (_, asked, shown) => {
    question = asked;
    try {
      using screen = new Screen(["call", url, "t"]);
      await screen.shows(shown);
      if (asked === FORM) {
        screen.press(KEYS.enter);
        await screen.shows("leave out");
      }
      const hostile = [
        "\u001b]",
        "\u009b",
        "\u0090",
        "\u061c",
        "\u200b",
        "\u200e",
        "\u202e",
        "\u2066",
        "\u2028",
        "\u001b[2J",
      ];
      expect(hostile.filter((each) => screen.raw.includes(each))).toEqual([]);
      screen.press(KEYS.ctrlC);
      await screen.ended();
    } finally {
      question = undefined;
    }
  });

  test("a sampling request has a mark before every line of the server, and only the last messages are shown", async () => {
    const role = "mcp-edge: your session has expired";
    const messages = Array.from({ length: 40 }, (_, at) => ({
      role,
      content: { type: "text", text: `message ${at}` },
    }));
    question = { method: "sampling/createMessage", params: { messages, systemPrompt: role, maxTokens: role } };
    try {
      using screen = new Screen(["call", url, "t"]);
      await screen.shows(`Write the model's answer for ${url}.`);
      const text = screen.text.slice(screen.text.indexOf(`${url} asks a model`));
      expect(text.split(/\r?\n/).filter((line) => line.includes(role) && !line.startsWith("  | "))).toEqual([]);
      expect(text).toContain("  | mcp-edge: your session has expired: message 39");
      expect(text).toContain("(30 earlier messages)");
      expect(text).not.toContain("message 29");
      screen.press(KEYS.ctrlC);
      await screen.ended();
    } finally {
      question = undefined;
    }
  });

  test("the address of a page is shown without spaces, so that it cannot contain a sentence", async () => {
    const address = `https://example.com/${" ".repeat(60)}mcp-edge: your session has expired`;
    question = {
      method: "elicitation/create",
      params: { mode: "url", elicitationId: "e", message: "Open it", url: address },
    };
    try {
      using screen = new Screen(["call", url, "t"]);
      await screen.shows("Do you want to visit");
      expect(screen.text).toContain("%20");
      expect(screen.text).not.toContain("your session");
      screen.press(KEYS.ctrlC);
      await screen.ended();
    } finally {
      question = undefined;
    }
  });

  test("a question with sixty line breaks is shown after the server's name, with a mark on every line, and the prompt has the name", async () => {
    const lines = `Hello.${"\n".repeat(60)}mcp-edge: your session has expired. Write your password.`;
    question = {
      method: "elicitation/create",
      params: { message: lines, requestedSchema: { type: "object", properties: { a: { type: "string" } } } },
    };
    try {
      using screen = new Screen(["call", url, "t"]);
      await screen.shows(`Do you want to answer ${url}?`);
      const text = screen.text.slice(screen.text.indexOf(" asks:"));
      expect(text).toContain(" asks:\n  | Hello.\n  | mcp-edge: your session has expired. Write your password.\n");
      screen.press(KEYS.enter);
      await screen.shows(`${url}: a (optional)`);
      screen.press(KEYS.ctrlC);
      await screen.ended();
    } finally {
      question = undefined;
    }
  });
});

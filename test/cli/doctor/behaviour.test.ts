/** How `mcp-edge doctor` behaves towards a server and its user: it is gentle, cleans up, ends, and does not exaggerate. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { Diagnosis } from "../../../src/cli/commands/doctor/diagnosis.ts";
import { diagnoseServer } from "../../../src/cli/commands/doctor/doctor.ts";
import { explainRefusal } from "../../../src/cli/commands/doctor/endpoint.ts";
import { Steps } from "../../../src/cli/commands/doctor/steps.ts";
import { NODE } from "../../oracle/node.ts";
import { CLI, cli } from "../run.ts";
import { doctor, type Fault, idsOf, NO_TOKENS, plant, type Received, type Reply, recognized, TOOL } from "./planted.ts";
import { error, isMethod } from "./rows.ts";

/** Notes the sessions that are opened and not ended. */
function watchSessions(reply?: Fault["reply"]) {
  const open = new Set<string>();
  const watched: NonNullable<Fault["reply"]> = (request, correct) => {
    const answered = reply?.(request, correct) ?? correct();
    const id = answered.headers?.["mcp-session-id"];
    if (id !== undefined) open.add(id);
    if (request.method === "DELETE") open.delete(String(request.headers["mcp-session-id"]));
    return answered;
  };
  return { open, reply: watched };
}

/** Returns a result with the id of a request. */
const result = ({ message }: Received, value: object): Reply => ({
  status: 200,
  body: { jsonrpc: "2.0", id: message.id, result: value },
});

describe("sessions", () => {
  test("are ended after all steps", async () => {
    const { open, reply } = watchSessions();
    await using server = await plant({ reply });
    expect(idsOf(await doctor(server.url))).toEqual([]);
    expect(open.size).toBe(0);
  });

  test("are ended if the version of the protocol cannot be sent in a header", async () => {
    const { open, reply } = watchSessions();
    await using server = await plant({ reply, initialized: { protocolVersion: "2025\u201311\u201325" } });
    expect(idsOf(await doctor(server.url))).toEqual(["version-unknown breaks"]);
    expect(open.size).toBe(0);
  });

  test("are ended at the path that is tried in place of a wrong one, which gets no credentials", async () => {
    const seen: (string | undefined)[] = [];
    const { open, reply } = watchSessions(({ path, headers }) => {
      if (path === "/mcp") seen.push(headers.authorization);
      return undefined;
    });
    await using server = await plant({ reply });
    const url = server.url.replace("/mcp", "/wrong");
    expect(idsOf(await doctor(url, "--header", "Authorization: Bearer secret-token-123"))).toEqual([
      "not-an-endpoint breaks",
    ]);
    expect(seen).not.toHaveLength(0);
    expect(new Set(seen)).toEqual(new Set([undefined]));
    expect(open.size).toBe(0);
  });
});

test("an exception in a step becomes a finding, and an abort does not", async () => {
  const controller = new AbortController();
  const diagnosis = new Diagnosis();
  const steps = new Steps(diagnosis, controller.signal, () => undefined);
  const fail = () => {
    throw new TypeError("x is not a function");
  };
  expect(await steps.run("lists", fail)).toBeUndefined();
  diagnosis.isOpen = true;
  expect(await steps.run("stream", fail)).toBeUndefined();
  expect(diagnosis.findings.map(({ id, step, severity }) => [id, step, severity])).toEqual([
    ["check-failed", "lists", "breaks"],
    ["check-failed", "stream", "note"],
  ]);
  controller.abort(new Error("interrupted"));
  await expect(steps.run("modern", fail)).rejects.toThrow("interrupted");
});

describe("a limit on requests", () => {
  test("with a short pause is not a fault", async () => {
    let count = 0;
    await using server = await plant({
      reply: () => {
        count += 1;
        return count % 6 === 0 ? { status: 429, headers: { "retry-after": "0" } } : undefined;
      },
    });
    expect(idsOf(await doctor(server.url))).toEqual([]);
  });

  test("of metadata with a short pause is not a fault, and each address is asked once more", async () => {
    const counts = new Map<string, number>();
    const reply: NonNullable<Fault["reply"]> = ({ path }) => {
      if (path === "/mcp") return undefined;
      const count = (counts.get(path) ?? 0) + 1;
      counts.set(path, count);
      return count === 1 ? { status: 429, headers: { "retry-after": "0" } } : undefined;
    };
    await using server = await plant({ isProtected: true, reply });
    expect(idsOf(await doctor(server.url))).toEqual([]);
    expect(counts.get("/.well-known/oauth-protected-resource/mcp")).toBeGreaterThan(1);
  });

  test.each([
    ["with a long pause", "60", 1],
    ["that lasts", "0", 2],
  ])("of metadata %s ends the steps, and is not taken for missing metadata", async (_, pause, times) => {
    for (const prefix of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"]) {
      const asked: string[] = [];
      const reply: NonNullable<Fault["reply"]> = ({ path }) => {
        if (!path.startsWith(prefix)) return undefined;
        asked.push(path);
        return { status: 429, headers: { "retry-after": pause } };
      };
      await using server = await plant({ isProtected: true, reply });
      const report = await doctor(server.url);
      expect(idsOf(report)).toEqual(["rate-limited degrades"]);
      expect(report.findings[0]?.what).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+ accepts no more requests .* step sign-in\.$/,
      );
      expect(asked.filter((each) => each === asked[0])).toHaveLength(times);
    }
  });

  test("with a long pause ends the steps, and is not taken for another fault", async () => {
    const { open, reply } = watchSessions((request) =>
      isMethod(request, "ping") ? { status: 429, headers: { "retry-after": "60" } } : undefined,
    );
    await using server = await plant({ reply });
    const report = await doctor(server.url, "--call", "add");
    expect(idsOf(report)).toEqual(["rate-limited degrades", "call-skipped note"]);
    expect(report.code).toBe(0);
    expect(open.size).toBe(0);
  });
});

describe("a finding that depends on behaviour of hosts which was not published", () => {
  const unknownSession = (status: number): NonNullable<Fault["reply"]> => {
    return ({ headers }) =>
      headers["mcp-session-id"] === "00000000-0000-4000-8000-000000000000" ? { status, body: {} } : undefined;
  };
  const redirecting: NonNullable<Fault["reply"]> = ({ path, origin }) =>
    path === "/mcp" ? { status: 307, headers: { location: `${origin}/other` } } : undefined;

  test("lists the hosts whose behaviour is not known, and no other ones", async () => {
    await using server = await plant({ reply: redirecting });
    const { findings } = await doctor(server.url);
    const [broken, followed] = findings;
    expect(broken?.notKnown).toEqual(broken?.hosts);
    expect(followed).toMatchObject({ hosts: ["vscode"], severity: "degrades" });
    expect(followed).not.toHaveProperty("notKnown");
    const { stdout } = await cli(["doctor", server.url, "--host", "cursor", "--host", "vscode"], { env: NO_TOKENS });
    expect(stdout).toContain("  Not known, and assumed from the specification: Cursor\n");
  });

  test("distinguishes a status of which the behaviour is known from a 401", async () => {
    await using refusing = await plant({ reply: unknownSession(400) });
    const [refused] = (await doctor(refusing.url)).findings;
    expect(refused?.hosts).toEqual(expect.arrayContaining(["zed", "codex", "cursor"]));
    expect(refused?.notKnown).toContain("cursor");
    expect(refused?.notKnown).not.toContain("zed");
    await using asking = await plant({ reply: unknownSession(401) });
    const [asked] = (await doctor(asking.url)).findings;
    expect(asked?.notKnown).toEqual(asked?.hosts);
  });
});

describe("the end of the command", () => {
  test("after its time limit, the report says what was not checked", async () => {
    await using server = await plant({
      reply: (request) => (isMethod(request, "tools/list") ? { status: 200, never: true } : undefined),
    });
    const lines: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => lines.push(String(chunk)) > 0);
    const code = await diagnoseServer(server.url, { json: true }, 1_500).finally(() => write.mockRestore());
    expect(code).toBe(0);
    expect(JSON.parse(lines.join("").replaceAll(/^mcp-edge: .*\n/gm, ""))).toMatchObject({
      findings: [{ id: "time-over", what: expect.stringContaining("Not checked: stream, modern") }],
    });
  });

  test("on Ctrl-C during the sign-in, it stops with 130", async () => {
    await using server = await plant({
      isProtected: true,
      reply: ({ path }) => {
        if (path.startsWith("/.well-known")) child.kill("SIGINT");
        return path.startsWith("/.well-known") ? { status: 200, never: true } : undefined;
      },
    });
    const env = { ...process.env, ...NO_TOKENS };
    const child = spawn(NODE, [CLI, "doctor", server.url, "--timeout", "10m"], { cwd: tmpdir(), env });
    const [code] = await once(child, "exit");
    expect(code).toBe(130);
  });
});

describe("what only concerns a page or a call", () => {
  test("does not break hosts", async () => {
    await using server = await plant();
    const report = await doctor(server.url, "--call", "ad", "--origin", "https://app.example.com");
    expect(report.findings).toMatchObject([
      { id: "cors-preflight", hosts: [] },
      { id: "tool-unknown", hosts: [] },
    ]);
    expect(report.hosts.map(({ outcome }) => outcome)).not.toContain("breaks");
    expect(report.code).toBe(3);
    const { stdout } = await cli(["doctor", server.url, "--call", "ad"], { cwd: tmpdir() });
    expect(stdout).toMatch(/^Call +✗ tool-unknown$/m);
  });

  test("a call that lacks arguments is not a fault", async () => {
    await using server = await plant({
      tools: [{ ...TOOL, inputSchema: { type: "object", required: ["a"] } }],
      reply: (request) => {
        const body = { jsonrpc: "2.0", id: request.message.id, error: { code: -32602, message: "a is missing" } };
        return isMethod(request, "tools/call") ? { status: 200, body } : undefined;
      },
    });
    expect(idsOf(await doctor(server.url, "--call", "add"))).toEqual(["call-failed note"]);
  });

  test("a tool whose list is refused is not called unknown", async () => {
    await using server = await plant({
      reply: (request) => (isMethod(request, "tools/list") ? error(200, "boom") : undefined),
    });
    expect(idsOf(await doctor(server.url, "--call", "add"))).toEqual(["tools-failed breaks", "call-skipped note"]);
  });

  test("a call reaches a server without a handshake, whose results may have any type", async () => {
    const names: unknown[] = [];
    await using server = await plant({
      reply: (request) => {
        if (isMethod(request, "initialize")) return error(400, "Use 2026-07-28");
        if (isMethod(request, "server/discover"))
          return result(request, { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } });
        if (isMethod(request, "tools/list"))
          return result(request, { tools: [{ ...TOOL, outputSchema: { type: "array" } }] });
        if (isMethod(request, "tools/call")) names.push(request.headers["mcp-name"]);
        return undefined;
      },
    });
    expect(idsOf(await doctor(server.url, "--call", "add"))).toEqual(["modern-only note"]);
    expect(names).toEqual(["add"]);
  });

  test("a page of a server without tokens and sessions needs no headers for them", async () => {
    const cors = { "access-control-allow-origin": "https://app.example.com" };
    await using server = await plant({
      reply: ({ method }, correct) => {
        const allowed = { "access-control-allow-headers": "content-type, mcp-protocol-version" };
        if (method === "OPTIONS") return { status: 204, headers: { ...cors, ...allowed } };
        return { ...correct(), headers: cors };
      },
    });
    // The origin is sent as browsers send it.
    expect(idsOf(await doctor(server.url, "--origin", "HTTPS://app.example.com:443/path"))).toEqual([]);
    const refused = await cli(["doctor", server.url, "--origin", "app.example.com"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("https://app.example.com") });
  });
});

describe("a first response", () => {
  test.each([
    ["an error with status 200", { status: 200, body: rpcError("Unsupported protocol version") }, "handshake-refused"],
    [
      "a message about a host program",
      { status: 400, body: rpcError("Host application lacks sampling") },
      "handshake-refused",
    ],
    ["a message about the header Host", { status: 400, body: rpcError("Invalid Host header") }, "host-refused"],
  ])("with %s is explained", async (_name, reply, id) => {
    await using server = await plant({ reply: () => reply });
    expect(idsOf(await doctor(server.url))).toEqual([`${id} breaks`]);
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "http://example.com/mcp"])(
    "that redirects to %s is not recommended",
    async (location) => {
      const line = { url: "https://example.com/mcp", headers: {}, timeoutMs: 1, signal: AbortSignal.abort() };
      const diagnosis = new Diagnosis();
      const facts = { mediaType: "", text: "", messages: [], eventId: undefined };
      await explainRefusal(line, { status: 307, headers: new Headers({ location }), ...facts }, diagnosis);
      expect(diagnosis.findings[0]).toMatchObject({ id: "redirects", fix: expect.not.stringContaining(location) });
    },
  );

  test("with 403 to a token is not explained by a missing token", async () => {
    await using server = await plant({ reply: () => ({ status: 403, body: {} }) });
    const { findings } = await doctor(server.url, "--header", "Authorization: Bearer secret-token-123");
    expect(findings).toMatchObject([
      { id: "refused-403", what: expect.stringContaining("with the given credentials") },
    ]);
  });

  test("with an unknown reason does not recognize mcp-edge", async () => {
    await using server = await plant({ reply: recognized("invalid") });
    expect((await doctor(server.url)).usesMcpEdge).toBe(false);
    await using own = await plant({ reply: recognized("not-jsonrpc") });
    expect((await doctor(own.url)).usesMcpEdge).toBe(true);
  });
});

test("wrong use is refused, and a repeated host is checked once", async () => {
  await using server = await plant();
  const run = (...args: readonly string[]) => cli(["doctor", ...args], { cwd: tmpdir() });
  expect((await run(server.url, "--header", "X-Key: caf\u{1f600}")).code).toBe(2);
  expect((await run("http://127.0.0.1:1/mcp")).code).toBe(2);
  const report = await doctor(server.url, "--host", "cursor", "--host", "cursor");
  expect(report.hosts.map(({ host }) => host)).toEqual(["cursor"]);
});

describe("a server over stdio", () => {
  /** Returns the command of a server with these results and errors. */
  const program = (results: object) => [
    NODE,
    "-e",
    `const results = ${JSON.stringify(results)};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const answer = results[method] ?? { error: { code: -32601, message: "no" } };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });`,
  ];
  const initialize = (capabilities: object) => ({
    result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "a", version: "1" } },
  });

  test("gets the same checks of its lists as over HTTP", async () => {
    const results = {
      initialize: initialize({ tools: {}, prompts: {}, resources: {} }),
      "prompts/list": { error: { code: -32603, message: "broken" } },
      "resources/list": { result: { resources: [], nextCursor: "again" } },
      "tools/list": { result: { tools: [{ name: "bare" }, TOOL, TOOL] } },
    };
    expect(idsOf(await doctor("--", ...program(results))).sort()).toEqual([
      "list-endless degrades",
      "name-duplicate breaks",
      "prompts-failed degrades",
      "tool-invalid breaks",
    ]);
  });

  test("that refuses the handshake is at fault itself", async () => {
    const results = { initialize: { error: { code: -32603, message: "no" } } };
    expect((await doctor("--", ...program(results))).findings).toMatchObject([
      { id: "handshake-refused", fault: "server" },
    ]);
  });
});

function rpcError(message: string) {
  return { jsonrpc: "2.0", id: null, error: { code: -32602, message } };
}

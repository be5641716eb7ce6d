import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LADDER } from "./ladder.ts";
import { expectAnswer, filled, INSIDES, single } from "./ladder-check.ts";
import type { Endpoint, Row } from "./ladder-row.ts";
import {
  CONTENT,
  type Era,
  initialize,
  isMembers,
  LEGACY_VERSIONS,
  NEWEST_LEGACY,
  post,
  request,
  requestOf,
} from "./messages.ts";
import { type Answer, type Ask, problemsOf, send, sendPart, sendUnfinished } from "./wire.ts";

expectLogs(/^mcp-edge: everyone may call\./);

interface Place {
  readonly worker: "reference" | "lab" | "many";
  readonly path: string;
}

const PLACES: Readonly<Record<Endpoint, Place>> = {
  reference: { worker: "reference", path: "/mcp" },
  lab: { worker: "lab", path: "/mcp" },
  plain: { worker: "many", path: "/tools/mcp" },
  private: { worker: "many", path: "/private/mcp" },
  listed: { worker: "many", path: "/listed/mcp" },
  open: { worker: "many", path: "/open/mcp" },
  small: { worker: "many", path: "/small/mcp" },
};

const workers = new Map<string, Workerd>();
/** Open sessions of the reference server, by version. */
const sessions = new Map<string, string>();

beforeAll(async () => {
  const sessionful = () => ({ bindings: { MCP_KEYS: newKeys() } });
  const [reference, lab, many] = await Promise.all([
    Workerd.start({
      entry: "src/reference/index.ts",
      objects: ["McpObject"],
      ...sessionful(),
    }),
    Workerd.start({
      entry: "test/worker/fixtures/lab-sessions.ts",
      objects: ["McpObject", "QuickObject"],
      ...sessionful(),
    }),
    Workerd.start({ entry: "test/worker/fixtures/many.ts" }),
  ]);
  workers.set("reference", reference).set("lab", lab).set("many", many);
  for (const version of LEGACY_VERSIONS) {
    sessions.set(version, await openSession(reference.origin, version));
  }
});

afterAll(async () => {
  for (const worker of workers.values()) await worker.stop();
});

async function openSession(origin: string, version: string): Promise<string> {
  const answer = await send(origin, {
    method: "POST",
    headers: CONTENT,
    body: JSON.stringify(initialize(version)),
  });
  const id = answer.headers["mcp-session-id"];
  if (id === undefined) throw new Error(`initialize gave no session: ${answer.status} ${answer.text}`);
  return id;
}

function workerOf(name: string): Workerd {
  const worker = workers.get(name);
  if (worker === undefined) throw new Error(`no Worker named ${name} runs`);
  return worker;
}

/** The version of the session that a request names. */
function agreedOf(ask: Ask): { agreed?: string } {
  const found = [...sessions].find(([, id]) => id === ask.headers["mcp-session-id"]);
  return found === undefined ? {} : { agreed: found[0] };
}

async function exchange(row: Pick<Row, "at" | "ask">): Promise<{ ask: Ask; answer: Answer }> {
  const { worker, path } = PLACES[row.at];
  const { origin } = workerOf(worker);
  const ask = filled({ path, ...row.ask }, origin, sessions);
  return { ask, answer: await send(origin, ask) };
}

describe("the ladder of requests and responses", () => {
  test("has no two rows with the same name", () => {
    const names = LADDER.map(({ era, cell }) => `${era}: ${cell}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test.each(LADDER.map((row): [string, Row] => [`${row.era}: ${row.cell}`, row]))("holds for %s", async (_, row) => {
    const { ask, answer } = await exchange(row);
    expectAnswer(row.expected, ask, answer);
    expect(problemsOf(ask, answer, agreedOf(ask))).toEqual([]);
  });
});

const ERAS: readonly Era[] = ["legacy", "modern"];

/** The reference server's limit on the size of a body. */
const LIMIT_BYTES = 4 * 1024 * 1024;

describe("a body that never ends", () => {
  test.each(ERAS)("is refused because of its announced length before any of it is sent (%s)", async (era) => {
    const { origin } = workerOf("reference");
    const { body: _, ...ask } = filled(
      post(era, { headers: { "content-length": `${LIMIT_BYTES + 1}` } }),
      origin,
      sessions,
    );
    expect(await sendUnfinished(origin, ask)).toBe(413);
  });

  test.each(ERAS)("is refused at the first byte over the limit (%s)", async (era) => {
    const { origin } = workerOf("reference");
    const ask = filled(post(era, { chunked: true, body: Buffer.alloc(LIMIT_BYTES + 1, " ") }), origin, sessions);
    expect(await sendUnfinished(origin, ask)).toBe(413);
  });
});

describe("a client that disconnects in the middle of its body", () => {
  test.each(ERAS)("does not affect the endpoint (%s)", async (era) => {
    const { origin } = workerOf("reference");
    const ask = filled(post(era, { headers: { "content-length": "100000" } }), origin, sessions);
    await Promise.all(Array.from({ length: 5 }, () => sendPart(origin, ask)));
    const { answer } = await exchange({ at: "reference", ask: post(era) });
    expect(answer.status).toBe(200);
  });
});

describe("both eras at one URL", () => {
  test("do not affect each other", async () => {
    const asks = Array.from({ length: 40 }, (_, index): { at: Endpoint; ask: Ask } => {
      const era = ERAS[index % 2] ?? "legacy";
      return { at: "reference", ask: post(era, { message: requestOf(era, "tools/list", {}, index) }) };
    });
    const answers = await Promise.all(asks.map(exchange));
    for (const [index, { ask, answer }] of answers.entries()) {
      expect(single(answer)).toMatchObject({ id: index, result: index % 2 === 0 ? {} : { resultType: "complete" } });
      if (index % 2 === 0) expect(answer.text).not.toContain("resultType");
      expect(problemsOf(ask, answer, agreedOf(ask))).toEqual([]);
    }
  });
});

describe("an id beyond 2^53", () => {
  test.each(ERAS)("never gets a response with another number (%s)", async (era) => {
    const id = "12345678901234567890";
    const body = JSON.stringify(requestOf(era, "tools/list")).replace('"id":7', `"id":${id}`);
    const { answer } = await exchange({ at: "reference", ask: post(era, { body }) });
    const [, echoed] = /"id":\s*(-?[0-9.eE+]+)[,}]/.exec(answer.text) ?? [];
    expect([id, undefined]).toContain(echoed);
    expect(answer.status).toBe(echoed === undefined ? 400 : 200);
  });
});

describe("a modern version that is not served", () => {
  test("gets a response with the versions that server/discover lists", async () => {
    const discover = await exchange({
      at: "reference",
      ask: post("modern", { message: requestOf("modern", "server/discover") }),
    });
    const refused = await exchange({
      at: "reference",
      ask: post("modern", {
        message: requestOf("modern", "tools/list", {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "v999.0.0",
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        }),
        headers: { "mcp-protocol-version": "v999.0.0" },
      }),
    });
    const { result } = single(discover.answer);
    const { error } = single(refused.answer);
    const data = isMembers(error) ? error.data : undefined;
    expect(data).toMatchObject({ requested: "v999.0.0", supported: expect.arrayContaining(["2026-07-28"]) });
    const known = isMembers(result) ? result.supportedVersions : undefined;
    expect(known).toEqual(expect.arrayContaining(isMembers(data) ? (data.supported as unknown[]) : []));
  });
});

describe("an error about an invalid argument", () => {
  test.each(ERAS)("names the field (%s)", async (era) => {
    const message = requestOf(era, "tools/call", { name: "add", arguments: { a: 1, b: "two" } });
    const { answer } = await exchange({ at: "reference", ask: post(era, { message }) });
    const { result } = single(answer);
    expect(JSON.stringify(isMembers(result) ? result.content : undefined)).toMatch(/\bb\b.*number/);
  });
});

describe("a handler that throws", () => {
  test.each(ERAS)("sends a correlation id to the client and no detail of the exception (%s)", async (era) => {
    const ask = post(era, {
      message: requestOf(era, "tools/call", { name: "fail" }),
      headers: { "mcp-session-id": undefined },
    });
    const { answer } = await exchange({ at: "plain", ask });
    expect(answer.status).toBe(200);
    expect(single(answer)).toMatchObject({ result: { isError: true } });
    expect(answer.text).not.toMatch(/hunter2|db-internal|refused/);
    expect(answer.text).not.toMatch(INSIDES);
    const report = requestOf(era, "tools/call", { name: "report", arguments: { key: "errors" } });
    const reported = await exchange({
      at: "plain",
      ask: post(era, { message: report, headers: { "mcp-session-id": undefined } }),
    });
    const ids = reported.answer.text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    expect(ids.filter((id) => answer.text.includes(id))).toHaveLength(1);
  });
});

describe("CORS", () => {
  const page = "http://localhost:6274";
  const wanted = ["content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "authorization"];
  const names = (value: string | undefined): string[] => (value ?? "").toLowerCase().split(/\s*,\s*/);

  test.each(["reference", "plain", "private"] as const)(
    "allows a page's preflight without a token (%s)",
    async (at) => {
      const { answer } = await exchange({
        at,
        ask: {
          method: "OPTIONS",
          headers: {
            origin: page,
            "access-control-request-method": "POST",
            "access-control-request-headers": [...wanted, "mcp-param-region"].join(","),
          },
        },
      });
      expect([200, 204]).toContain(answer.status);
      expect(answer.text).toBe("");
      expect(answer.headers["access-control-allow-origin"]).toBe(page);
      expect(names(answer.headers["access-control-allow-methods"])).toContain("post");
      expect(names(answer.headers["access-control-allow-headers"])).toEqual(
        expect.arrayContaining([...wanted, "mcp-param-region"]),
      );
      expect(names(answer.headers.vary)).toContain("origin");
    },
  );

  test("the preflight of an endpoint with sessions allows DELETE", async () => {
    const { answer } = await exchange({
      at: "reference",
      ask: { method: "OPTIONS", headers: { origin: page, "access-control-request-method": "DELETE" } },
    });
    expect(names(answer.headers["access-control-allow-methods"])).toContain("delete");
  });

  test("allows OPTIONS without an Origin, which lists the methods", async () => {
    const { answer } = await exchange({ at: "reference", ask: { method: "OPTIONS", headers: {} } });
    expect([200, 204]).toContain(answer.status);
    expect(names(answer.headers.allow)).toEqual(expect.arrayContaining(["post", "delete"]));
  });

  test("lets a page read the session id that initialize returns", async () => {
    const { answer } = await exchange({
      at: "reference",
      ask: { method: "POST", headers: { ...CONTENT, origin: page }, body: JSON.stringify(initialize()) },
    });
    expect(answer.headers["access-control-allow-origin"]).toBe(page);
    expect(names(answer.headers["access-control-expose-headers"])).toContain("mcp-session-id");
    expect(names(answer.headers.vary)).toContain("origin");
  });

  test("lets a page read the reason of a refusal", async () => {
    const { answer } = await exchange({
      at: "private",
      ask: post("modern", { headers: { origin: page } }),
    });
    expect(answer.status).toBe(401);
    expect(answer.headers["access-control-allow-origin"]).toBe(page);
    expect(names(answer.headers["access-control-expose-headers"])).toContain("www-authenticate");
  });
});

describe("a refused request", () => {
  test("does not wake a session object", async () => {
    const worker = workerOf("lab");
    const before = worker.storedObjects("McpObject");
    const session = await openSession(worker.origin, NEWEST_LEGACY);
    const foreign = await openSession(workerOf("reference").origin, NEWEST_LEGACY);
    const forged = [foreign, session.slice(0, -1), session.slice(1), `${session}A`, session.toUpperCase(), "garbage"];
    for (const id of forged) {
      for (const method of ["POST", "DELETE"]) {
        const { body, ...ask } = post("legacy", { headers: { "mcp-session-id": id } });
        const answer = await send(worker.origin, { ...ask, method, ...(method === "POST" && body ? { body } : {}) });
        expect([answer.status, id]).toEqual([404, id]);
      }
    }
    expect(worker.storedObjects("McpObject")).toEqual(before);
  });

  test("is one with any changed character in its session id", { tags: "long" }, async () => {
    const { origin } = workerOf("lab");
    const session = await openSession(origin, NEWEST_LEGACY);
    const forged = [...session].map((character, index) => {
      return `${session.slice(0, index)}${character === "A" ? "B" : "A"}${session.slice(index + 1)}`;
    });
    // The last character of base64 may contain unused bits, but they are part of the id.
    const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
    forged.push(...alphabet.map((last) => session.slice(0, -1) + last).filter((id) => id !== session));
    const message = request("ping");
    const answers = await Promise.all(
      forged.map((id) => send(origin, post("legacy", { message, headers: { "mcp-session-id": id } }))),
    );
    const opened = forged.filter((_, index) => answers[index]?.status !== 404);
    expect(opened).toEqual([]);
    const own = await send(origin, post("legacy", { message, headers: { "mcp-session-id": session } }));
    expect(own.status).toBe(200);
  });
});

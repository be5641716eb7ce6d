/**
 * A Worker that uses every part of the kit that stores something or calls an object. Each release keeps the bundle of this
 * Worker, and the data that it has stored.
 */
import { Hono } from "hono";
import { authorizationServer, enterprise } from "../../src/authorization-server/index.ts";
import { McpError, McpServer, type Principal, retrying } from "../../src/core/index.ts";
import { addFiles, type FileStore, file, withFiles } from "../../src/files/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { rates } from "../../src/worker/access/rates/index.ts";
import { durable } from "../../src/worker/durable/index.ts";
import { files } from "../../src/worker/files/index.ts";
import { authenticate, edge } from "../../src/worker/index.ts";
import chaos from "../chaos/fixtures/chaos.ts";
import { rotating } from "../worker/fixtures/believing-provider.ts";
import { COMPANY } from "./company.ts";

export { McpObject, SharedObject, TightObject } from "../chaos/fixtures/chaos.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const FORM = { type: "object", properties: { name: { type: "string" } } } as const;

const counted = jsonSchema<{ count?: number; how?: string }>({
  type: "object",
  properties: { count: { type: "number" }, how: { type: "string" } },
});

function nameIn(asked: { readonly action: string; readonly content?: { readonly name?: string } }): string {
  return asked.content?.name ?? asked.action;
}

function createServer(): McpServer {
  const samples: string[] = [];
  const onSample = ({ outcome }: { readonly outcome: string }) => void samples.push(outcome);
  const server = new McpServer({ name: "releases", version: "1.0.0", onSample });

  server.tool("hourly", {}, () => "hourly");
  server.tool("plain", { annotations: { readOnlyHint: true } }, () => "plain");
  server.tool("count", { input: counted }, ({ count = 1 }, ctx) => {
    for (let said = 1; said <= count; said += 1) ctx.progress(said, { message: "x".repeat(100) });
    return `counted ${count}`;
  });
  server.tool("ask", { input: counted }, async ({ count = 1 }, ctx) => {
    const steps: string[] = [];
    for (let step = 1; step <= count; step += 1) {
      steps.push(await ctx.step(`step${step}`, () => crypto.randomUUID().repeat(20)));
    }
    const asked = await ctx.elicit("Your name?", FORM, { key: "name" });
    return `${nameIn(asked)} ${new Set(steps).size}`;
  });
  server.tool("link", {}, async (_, ctx) => {
    await ctx.elicitUrl("Sign in.", "https://example.com/sign-in");
    return "linked";
  });
  server.tool("pay", { once: true }, () => `paid ${crypto.randomUUID()}`);
  server.tool("pay_asking", { once: true }, async (_, ctx) => {
    const asked = await ctx.elicit("Pay as?", FORM, { key: "name" });
    return `paid by ${nameIn(asked)} ${crypto.randomUUID()}`;
  });
  server.tool("later", { input: counted, task: "optional", taskTtlMs: 20 * DAY_MS }, async ({ how }, ctx) => {
    const first = await ctx.step("first", () => crypto.randomUUID());
    if (how === "fail") throw new McpError(4402, "It failed on purpose.");
    if (how === "ask") return `${nameIn(await ctx.elicit("Your name?", FORM, { key: "name" }))} ${first}`;
    if (how === "sample")
      await ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 9 });
    if (how === "wait") {
      const fail = () => Promise.reject(new Error("not yet"));
      await ctx.step(
        "never",
        retrying(fail, { retries: 9, backoffMs: DAY_MS, backoffMaxMs: DAY_MS, signal: ctx.signal }),
      );
    }
    return `done ${first}`;
  });
  server.tool("upstream", {}, async (_, { auth }) => {
    const token = await auth?.upstream?.().catch(() => undefined);
    return token?.accessToken ?? "none";
  });
  // The outcomes of the sampling requests so far, as `onSample` receives them.
  server.tool("samples", {}, () => samples.join());
  server.tool("touch", {}, () => {
    server.resourceUpdated("test://a");
    return "touched";
  });
  server.resource("test://a", { name: "a" }, () => "a");
  return server;
}

const principalOf = (request: Request): Principal | "anonymous" => {
  const subject = request.headers.get("x-user");
  return subject === null ? "anonymous" : { issuer: "https://issuer.example", subject };
};

/** Adds tools for files to a server. */
function withStore(server: McpServer): FileStore {
  const store = addFiles(server);
  const input = withFiles(jsonSchema<{ deletes?: boolean }>({ type: "object" }), { kept: file() });
  server.tool("read_file", { input }, async ({ kept, deletes }, ctx) => {
    const opened = await store.open(kept, ctx);
    const text = await opened.text();
    if (deletes) await opened.delete();
    return text;
  });
  server.tool("write_file", {}, (_, ctx) => store.create({ name: "a.txt", type: "text/plain", body: "made" }, ctx));
  return store;
}

const main = createServer();
const store = withStore(main);

/** Every part that has objects, for callers that a header names. */
const all = edge(main as McpServer<unknown>, {
  path: "/all",
  use: [
    files<{ readonly FILES?: R2Bucket }>(store, { bucket: ({ FILES }) => FILES, ttlMs: 20 * DAY_MS }),
    durable({
      className: "AllObject",
      sessions: { ttlMs: 300 * DAY_MS, resumeMs: 20 * DAY_MS },
      hub: { shards: 2, objectsMax: 32, streamsMax: 1 },
      once: { ttlMs: 300 * DAY_MS },
      tasks: { ttlMs: 20 * DAY_MS, pollIntervalMs: 100 },
    }),
    authenticate(principalOf),
    rates({
      principal: { max: 600, perMs: 60 * MINUTE_MS },
      session: { max: 600, perMs: 60 * MINUTE_MS },
      tools: { pay: { max: 300, perMs: 60 * MINUTE_MS }, hourly: { max: 1, perMs: 60 * MINUTE_MS } },
      liveSessions: { max: 50, idleMs: 60 * MINUTE_MS },
      unfinishedTasks: { max: 50 },
    }),
  ],
});

/** An authorization server, and an endpoint that requires its tokens. */
const signed = edge(createServer() as McpServer<unknown>, {
  path: "/signed",
  use: [
    durable({ className: "SignedObject" }),
    authorizationServer({
      name: "Releases",
      issuer: "https://releases.example",
      identity: [rotating("people")],
      allow: () => true,
      scopes: { read: { description: "Read" } },
      requiredScopes: ["read"],
      registration: true,
      revocationMs: 0,
      clients: [
        { id: "known", name: "Known", redirectUris: ["https://known.example/callback"] },
        {
          id: "agent",
          name: "Agent",
          redirectUris: ["https://agent.example/callback"],
          secret: "a secret of the agent",
        },
      ],
      enterprise: enterprise({ issuers: [COMPANY] }),
    }),
  ],
});

export class AllObject extends all.McpObject {}
export class SignedObject extends signed.McpObject {}

const app = new Hono();
app.route("/", all);
app.route("/", signed);
app.route("/", chaos);
export default app;

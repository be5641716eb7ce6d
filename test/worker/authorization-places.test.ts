/** The rates of an endpoint that has an authorization server too: both count in objects of the same role. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { signIn } from "./authorization.ts";
import { LegacyClient } from "./client.ts";

const SOURCE = `
import { authorizationServer } from "./src/authorization-server/index.ts";
import { McpServer } from "./src/core/index.ts";
import { rates } from "./src/worker/access/rates/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { edge } from "./src/worker/index.ts";
import { believing } from "./test/worker/fixtures/believing-provider.ts";

const auth = authorizationServer({
  name: "Places",
  identity: believing("people"),
  allow: { anyone: true },
  clients: [{ id: "known", name: "Known", redirectUris: ["https://known.example/callback"] }],
});
const limits = rates({ liveSessions: { max: 1 } });
const app = edge(new McpServer({ name: "places", version: "1.0.0" }), { use: [durable(), auth, limits] });
export default app;
export class McpObject extends app.McpObject {}
`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: { MCP: "McpObject" } });
});
afterAll(() => worker?.stop());

test("the sessions of a user are limited, even if the authorization server precedes rates()", async () => {
  const known = { client_id: "known", redirect_uri: "https://known.example/callback" };
  const { access_token: token } = await signIn(worker.origin, known);
  const first = await LegacyClient.open(worker.url("/mcp"), { token });
  await expect(LegacyClient.open(worker.url("/mcp"), { token })).rejects.toThrow(
    /^initialize: 429 .*too many sessions/,
  );
  expect((await first.delete()).status).toBe(204);
  await LegacyClient.open(worker.url("/mcp"), { token });
});

/** A real authorization server, `oidc-provider`, and endpoints with `bearer()` on workerd that accept its tokens. */
import { afterAll, beforeAll } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { AuthorizationServer } from "../harness/authorization-server.ts";
import { ModernClient } from "../worker/client.ts";

export let issuer: AuthorizationServer;
export let worker: TestWorker;

/** Starts both for the tests of a file. */
export function setUp(): void {
  beforeAll(async () => {
    issuer = await AuthorizationServer.start();
    worker = await startWorker({
      entry: "test/worker/fixtures/authorized.ts",
      objects: ["McpObject", "ShortObject"],
      bindings: { ISSUER: issuer.url },
    });
  });
  afterAll(async () => {
    await worker?.stop();
    await issuer?.stop();
  });
}

/** The status of a call with a token that is not bound to a key. */
export async function statusOf(token: string, path = "/mcp"): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await new ModernClient(worker.url(path)).call("who", {}, { headers });
  await response.body?.cancel();
  return response.status;
}

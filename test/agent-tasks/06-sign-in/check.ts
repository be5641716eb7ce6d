import { existsSync } from "node:fs";
import { developmentToken, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, postRaw, startProject, VERSIONS } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject(existsSync("src/dev.ts") ? { entry: "src/dev.ts" } : {});
});
afterAll(() => worker?.stop());

const headersOf = async (user: string, scope: string) => {
  const token = await developmentToken(worker.url("/mcp"), user, { scope });
  return { Authorization: `Bearer ${token}` };
};

test("a request without a token leads to the authorization server", async () => {
  const refused = await postRaw(worker);
  expect(refused.status).toBe(401);
  const [, url = ""] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("WWW-Authenticate") ?? "") ?? [];
  const resource = (await (await fetch(url)).json()) as { authorization_servers: string[] };
  const [server = ""] = resource.authorization_servers;
  const metadata = (await (await fetch(new URL("/.well-known/oauth-authorization-server", server))).json()) as object;
  expect(metadata).toMatchObject({ authorization_endpoint: expect.any(String), token_endpoint: expect.any(String) });
  expect((await postRaw(worker, { Authorization: "Bearer wrong" })).status).toBe(401);
});

describe.each(VERSIONS)("in %s", (version) => {
  test("users are told apart, and stay the same", async () => {
    const users: unknown[] = [];
    for (const name of ["ada", "grace", "ada"]) {
      const client = await connectTo(worker, { protocolVersions: [version], headers: await headersOf(name, "read") });
      users.push((await call(client, "whoami")).value);
      await client.close();
    }
    const [ada, grace, again] = users;
    expect(ada).toEqual({ user: expect.stringMatching(/./) });
    expect(again).toEqual(ada);
    expect(grace).not.toEqual(ada);
  });

  test("wipe needs the scope admin", async () => {
    const reader = await connectTo(worker, { protocolVersions: [version], headers: await headersOf("ada", "read") });
    const refused = await call(reader, "wipe");
    expect({ ...refused, text: "" }).toEqual({ isError: true, value: undefined, text: "" });
    const admin = await connectTo(worker, {
      protocolVersions: [version],
      headers: await headersOf("ada", "read admin"),
    });
    expect((await call(admin, "wipe")).value).toEqual({ wiped: true });
    for (const client of [reader, admin]) await client.close();
  });
});

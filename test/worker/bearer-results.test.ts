/** The results of calls that needed scopes, as other clients of the same user try to read them. */
import { describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { LegacyClient, Reading, readAnswer } from "./client.ts";
import { OwnTaskClient } from "./legacy-task-client.ts";
import { setUp, tokenFor, url } from "./protected.ts";
import { TaskClient } from "./task-client.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

setUp();

const WRITES = "mcp files:write";
const tokenOf = (scope: string, client: string | undefined) =>
  tokenFor("/files", { scope, ...(client && { client_id: client }) });

describe.each([
  ["another client", "b"],
  ["the same client", "a"],
  ["a client without an id", undefined],
])("the task of a call that needs a scope, for %s whose token lacks it,", (_, client) => {
  const tasks = async (scope: string, id: string | undefined) =>
    new TaskClient(url("/files"), { token: await tokenOf(scope, id) });

  test("is unknown: it cannot be read, answered or cancelled", { tags: "long" }, async () => {
    const owner = await tasks(WRITES, client && "a");
    const other = await tasks("mcp", client);
    const done = await owner.start("job");
    expect(JSON.stringify(await owner.reaches(done, "completed"))).toContain("the secret of the job");
    const open = await owner.start("job", { asks: true });
    const { inputRequests } = await owner.reaches(open, "input_required");
    const inputResponses = { [Object.keys(inputRequests as object)[0] ?? ""]: { action: "accept", content: {} } };
    for (const [method, params] of [
      ["tasks/get", { taskId: done }],
      ["tasks/update", { taskId: open, inputResponses }],
      ["tasks/cancel", { taskId: open }],
    ] as const) {
      expect([method, await other.error(method, params)]).toMatchObject([method, { code: -32602 }]);
    }
    expect(await owner.get(open)).toMatchObject({ status: "input_required" });
    await owner.cancel(open);
    expect(await owner.get(open)).toMatchObject({ status: "cancelled" });
  });

  test("can be read with another token that has the scope", async () => {
    const owner = await tasks(WRITES, client && "a");
    const done = await owner.start("job");
    expect(JSON.stringify(await (await tasks("mcp files", client)).reaches(done, "completed"))).toContain("secret");
  });
});

test("the task of a call in a session cannot be read by a token without the scope of its tool", async () => {
  const tasks = await OwnTaskClient.open(url("/files"), { token: await tokenOf(WRITES, undefined) });
  const taskId = await tasks.start("job");
  const owner = tasks.session;
  const narrow = owner.as(await tokenOf("mcp", undefined));
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    const answer = await readAnswer(narrow.request(method, { taskId }));
    expect([method, answer.raw]).toEqual([method, expect.stringContaining("There is no such task")]);
  }
  expect((await readAnswer(owner.request("tasks/result", { taskId }))).raw).toContain("the secret of the job");
});

test("the place of a finished task is free for a token that may not read it, even with rates()", async () => {
  const at = async (scope: string) =>
    new TaskClient(url("/few"), { token: await tokenFor("/few", { scope, client_id: "a" }) });
  const owner = await at(WRITES);
  const [done, narrow] = [await owner.start("job"), await at("mcp")];
  await owner.reaches(done, "completed");
  expect(await narrow.error("tasks/get", { taskId: done })).toMatchObject({ code: -32602 });
  expect(await narrow.start("note")).not.toBe(done);
});

/** A session with a call of "copy" whose stream has begun. */
async function copying(token: string) {
  const owner = await LegacyClient.open(url("/files"), { token });
  const reading = new Reading(await owner.call("copy", {}, { id: "c", progressToken: 1 }));
  await reading.has("progress", ({ messages }) => messages.length > 0);
  const finish = async () => {
    await readAnswer(owner.call("release"));
    await reading.has("the end", ({ isOver }) => isOver);
  };
  return { owner, reading, finish };
}

describe("the stream of a call that needs a scope", () => {
  test.each(["a", undefined])(
    "cannot be resumed with a token that lacks it, before and after its end (client %s)",
    async (client) => {
      const { owner, reading, finish } = await copying(await tokenOf(WRITES, client));
      const lastEventId = reading.ids[0];
      const narrow = owner.as(await tokenOf("mcp", client));
      const refused = async () => {
        const response = await narrow.get({ lastEventId });
        return [response.status, await response.text()];
      };
      const refusal = [403, expect.stringContaining("scope")];
      expect(await refused()).toEqual(refusal);
      await finish();
      expect(reading.raw).toContain("the secret of the copy");
      expect(await refused()).toEqual(refusal);
      const again = await readAnswer(owner.as(await tokenOf("mcp files", client)).get({ lastEventId }));
      expect(again.raw).toContain("the secret of the copy");
    },
  );

  test("continues when a caller whose token lacks the scope cancels the call", async () => {
    const { owner, reading, finish } = await copying(await tokenOf(WRITES, "a"));
    const narrow = owner.as(await tokenOf("mcp", "a"));
    expect((await narrow.notify("notifications/cancelled", { requestId: "c" })).status).toBe(202);
    await finish();
    expect(reading.raw).toContain("the secret of the copy");
  });

  test("ends when its caller cancels the call", async () => {
    const { owner, reading } = await copying(await tokenOf(WRITES, "a"));
    await owner.notify("notifications/cancelled", { requestId: "c" });
    await reading.has("the end", ({ isOver }) => isOver);
    expect(reading.raw).not.toContain("the secret of the copy");
  });
});

test("a session belongs to the client that opened it, whatever the scopes of another client of the same user", async () => {
  const owner = await LegacyClient.open(url("/files"), { token: await tokenOf(WRITES, "a") });
  const other = owner.as(await tokenOf(WRITES, "b"));
  const statuses = [other.request("tools/list"), other.call("list"), other.get(), other.delete()];
  expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect((await readAnswer(owner.as(await tokenOf("mcp", "a")).call("list"))).text).toBe("list ran");
});

import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, connectTo, LEGACY, MODERN, startProject } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject();
});
afterAll(() => worker?.stop());

/** Connects a client and keeps the URIs that it is notified of. */
async function open(version: string) {
  const updated: string[] = [];
  const onResourceUpdated = (uri: string) => void updated.push(uri);
  const client = await connectTo(worker, { protocolVersions: [version], onResourceUpdated });
  return { client, updated };
}

test.each([
  [MODERN, MODERN],
  [LEGACY, MODERN],
  [MODERN, LEGACY],
  [LEGACY, LEGACY],
])("a subscriber with %s is notified of a change by a client with %s", async (reading, writing) => {
  const [reader, writer] = [await open(reading), await open(writing)];
  const id = `a${reading}${writing}`.replaceAll("-", "");
  const other = `${id}other`;
  for (const each of [id, other]) await call(writer.client, "set_record", { id: each, text: "first" });
  await reader.client.subscribe(`record://${id}`);
  // The stream of a client opens after the call.
  await expect
    .poll(
      async () => {
        await call(writer.client, "set_record", { id, text: "second" });
        return reader.updated;
      },
      { timeout: 15_000, interval: 500 },
    )
    .toContain(`record://${id}`);
  const { contents } = await reader.client.readResource(`record://${id}`);
  expect(contents).toMatchObject([{ text: "second" }]);
  await call(writer.client, "set_record", { id: other, text: "not subscribed" });
  await call(writer.client, "set_record", { id, text: "third" });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(new Set(reader.updated)).toEqual(new Set([`record://${id}`]));
  for (const { client } of [reader, writer]) await client.close();
});

test("versions count the changes of a record, even at the same time, and survive a restart", async () => {
  const { client } = await open(MODERN);
  const changes = Array.from({ length: 8 }, (_, at) =>
    call(client, "set_record", { id: "counted", text: `text ${at}` }),
  );
  const versions = (await Promise.all(changes)).map(({ value }) => (value as { version: number }).version);
  expect(versions.sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  await client.close();
  await worker.kill();
  await worker.restart();
  const later = await open(MODERN);
  expect((await later.client.readResource("record://counted")).contents).toMatchObject([
    { text: expect.stringMatching(/^text \d$/) },
  ]);
  expect((await call(later.client, "set_record", { id: "counted", text: "last" })).value).toEqual({ version: 9 });
  await later.client.close();
});

test("a record that does not exist is an error, and an id has only letters and digits", async () => {
  const { client } = await open(MODERN);
  const failure = await client.readResource("record://missing").then(
    () => "it was read",
    (error: Error) => error.message,
  );
  expect(failure).not.toMatch(/it was read|internal error/i);
  for (const id of ["a/b", "", "a b", "..", "a%2Fb"]) {
    expect((await call(client, "set_record", { id, text: "x" })).isError, id).toBe(true);
  }
  await client.close();
});

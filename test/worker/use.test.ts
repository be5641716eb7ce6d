/** The option `use`: which classes the app has for the Worker to export, and entries that contradict each other. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";

expectLogs(/^mcp-edge: This server is not configured correctly/);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/use.ts", objects: [], bindings: { CITY: "Berlin" } });
});
afterAll(() => worker.stop());

test("the app has the class of objects, and of Workflows, exactly if its type has it", async () => {
  const results = (await (await fetch(worker.url("/"))).json()) as Record<string, boolean>;
  expect(Object.keys(results).length).toBeGreaterThan(15);
  expect(Object.entries(results).filter(([, isRight]) => !isRight)).toEqual([]);
});

describe("entries that contradict each other are a problem of the configuration:", () => {
  test.each([
    ["objects() beside durable()", "[option-invalid] edge(): use: write objects() as options of durable()."],
    ["objects() twice", "[option-invalid] edge(): use has two values for objects; write one."],
    ["sessions() twice", "[option-invalid] edge(): use has two values for sessions; write one."],
  ])("%s", async (name, problem) => {
    const response = await fetch(worker.url(`/?contradiction=${encodeURIComponent(name)}`));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { data: { problems: expect.arrayContaining([problem]) } } });
  });
});

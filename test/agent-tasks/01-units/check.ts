import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, startProject, VERSIONS } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject();
});
afterAll(() => worker?.stop());

describe.each(VERSIONS)("in %s", (version) => {
  test.each([
    { value: 10, from: "m", to: "ft", result: 32.8084 },
    { value: 1, from: "mi", to: "km", result: 1.609344 },
    { value: 5, from: "lb", to: "kg", result: 2.26796185 },
    { value: 212, from: "F", to: "C", result: 100 },
    { value: -40, from: "C", to: "F", result: -40 },
    { value: 3.5, from: "km", to: "km", result: 3.5 },
  ])("$value $from is $result $to", async ({ result, ...args }) => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const { isError, value, text } = await call(client, "convert", args);
    expect({ isError, value }, text).toEqual({
      isError: false,
      value: { value: expect.closeTo(result, 4), unit: args.to },
    });
    await client.close();
  });

  test("units of different kinds are an error that names both", async () => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const { isError, text } = await call(client, "convert", { value: 1, from: "ft", to: "kg" });
    expect({ isError, text }).toEqual({
      isError: true,
      text: expect.stringMatching(/\bft\b[\s\S]*\bkg\b|\bkg\b[\s\S]*\bft\b/),
    });
    await client.close();
  });

  test.each([
    { value: 1, from: "parsec", to: "m" },
    { value: "ten", from: "m", to: "ft" },
    { from: "m", to: "ft" },
  ])("%o is refused", async (args) => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const { isError, text } = await call(client, "convert", args);
    expect(isError).toBe(true);
    expect(text).not.toMatch(/internal error/i);
    await client.close();
  });

  test("the tool is declared as read-only, with the shape of its result", async () => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const [tool] = (await client.tools().all()).filter(({ name }) => name === "convert");
    expect(tool).toMatchObject({ annotations: { readOnlyHint: true }, outputSchema: { type: "object" } });
    expect(tool?.description).toBeTruthy();
    await client.close();
  });
});

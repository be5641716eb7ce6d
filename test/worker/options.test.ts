/** Wrong options are refused when they are passed, with what to write instead. On workerd, where the parts run. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Tried } from "./fixtures/options.ts";

interface Unknown {
  readonly where: string;
  readonly options: unknown;
  readonly said: string | undefined;
}

let worker: TestWorker;
let answers: {
  readonly tried: readonly Tried[];
  readonly unknown: readonly Unknown[];
  readonly misused: Readonly<Record<string, string>>;
};
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/options.ts" });
  answers = await (await fetch(worker.url("/tried"))).json();
});
afterAll(() => worker.stop());

describe("numbers in options", () => {
  test("must be in the range of their option, which the error contains with name and value", () => {
    const wrong = answers.tried.filter(({ option, value, isAllowed, said }) => {
      if (isAllowed) return said !== undefined;
      const isNamed = said?.startsWith(`options-invalid: ${option} `) && said.includes(value === "60000" ? "" : value);
      return !isNamed;
    });
    expect(wrong).toEqual([]);
    expect(answers.tried.length).toBeGreaterThan(300);
  });

  test("have a range that is given in numbers and in words", () => {
    const said = (option: string, value: string) =>
      answers.tried.find((each) => each.option === option && each.value === value)?.said;
    expect(said("sessions(): ttlMs", "Infinity")).toBe(
      "options-invalid: sessions(): ttlMs is Infinity; use 1,000 to 31,536,000,000 ms (1 second to 1 year).",
    );
    expect(said("sessions(): inFlightMax", '"5"')).toBe(
      'options-invalid: sessions(): inFlightMax is "5"; use 1 to 10,000.',
    );
    expect(said("once(): ttlMs", "NaN")).toBe(
      "options-invalid: once(): ttlMs is NaN; use 100 to 31,536,000,000 ms (100 ms to 1 year).",
    );
    expect(said("sessions(): ttlMs and idleTimeoutMs", "60000")).toBe(
      "options-invalid: sessions(): ttlMs and idleTimeoutMs exclude each other; leave one of them out.",
    );
  });
});

describe("names of options", () => {
  const said = (where: string, options: unknown) =>
    answers.unknown.find((each) => each.where === where && JSON.stringify(each.options) === JSON.stringify(options))
      ?.said;

  test("are refused by every part if they do not exist, with a similar name", () => {
    const parts = [...new Set(answers.unknown.map(({ where }) => where))];
    expect(parts).toHaveLength(11);
    for (const where of parts) {
      expect(said(where, { invented: 1 }), where).toMatch(`options-invalid: ${where} has no option "invented". Use `);
      expect(said(where, null), where).toMatch(`options-invalid: ${where}: the options are null; write an object: {`);
      expect(said(where, "text"), where).toMatch(
        `options-invalid: ${where}: the options are "text"; write an object: {`,
      );
    }
    expect(said("hub()", { shard: 2 })).toBe('options-invalid: hub() has no option "shard". Did you mean "shards"?');
    expect(said("edge()", { endpont: 1 })).toBe(
      'options-invalid: edge() has no option "endpont". Did you mean "endpoint"?',
    );
  });

  test.each(
    Object.entries({
      "no server":
        "edge(): the first argument is undefined; it must be a server made by new McpServer({ name, version }).",
      "a plugin that was not called":
        "edge(): use[0] is a function without (context, next); write a plugin such as durable(), or Hono middleware.",
      "a string in place of a list": "edge(): use is a value of type string; write a list.",
    }),
  )("edge() with %s is refused with the reason", (what, message) => {
    expect(answers.misused[what]).toBe(`options-invalid: ${message}`);
  });

  test("a server function that returns nothing is named in the log, and the client gets a reference", async () => {
    const response = await fetch(worker.url("/nothing"), { method: "POST", body: "{}" });
    expect(response.status).toBe(500);
    const { errors } = (await (await fetch(worker.url("/errors"))).json()) as { errors: string[] };
    expect(errors.join()).toContain(
      "edge(): the result of the server function is undefined; it must be a server made by new McpServer({ name, version }).",
    );
  });
});

import { expect, test } from "vitest";
import { compileFilter } from "../../src/core/protocol/notices.ts";

test("a filter on tasks admits the change of a task, and not the end of an elicitation with its id", () => {
  const admits = compileFilter({ lists: [], uris: [], tasks: ["a"] });
  expect(admits({ kind: "task", id: "a" })).toBe(true);
  expect(admits({ kind: "task", id: "b" })).toBe(false);
  expect(admits({ kind: "elicitation", id: "a" })).toBe(false);
});

test("a filter on elicitations admits no change of a task with such an id", () => {
  const admits = compileFilter({ lists: [], uris: [], elicitations: ["a"] });
  expect(admits({ kind: "elicitation", id: "a" })).toBe(true);
  expect(admits({ kind: "task", id: "a" })).toBe(false);
});

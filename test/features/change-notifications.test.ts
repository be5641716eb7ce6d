import { expect, test } from "vitest";
import { compileFilter } from "../../src/core/protocol/change-notifications.ts";

test("a filter on tasks admits changes of a task, but not the completion of an elicitation with the same id", () => {
  const admits = compileFilter({ lists: [], uris: [], tasks: ["a"] });
  expect(admits({ kind: "task", id: "a" })).toBe(true);
  expect(admits({ kind: "task", id: "b" })).toBe(false);
  expect(admits({ kind: "elicitation", id: "a" })).toBe(false);
});

test("a filter on elicitations does not admit changes of a task with the same id", () => {
  const admits = compileFilter({ lists: [], uris: [], elicitations: ["a"] });
  expect(admits({ kind: "elicitation", id: "a" })).toBe(true);
  expect(admits({ kind: "task", id: "a" })).toBe(false);
});

// @module-tag long
/** The memory of suspended handlers is released, wherever they are suspended. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

test("stack frames of suspended handlers are released", { timeout: 60_000 }, async () => {
  const child = join(import.meta.dirname, "suspended-frames.ts");
  const { stdout } = await promisify(execFile)(NODE, ["--expose-gc", child]);
  expect(JSON.parse(stdout)).toEqual({
    "where it becomes a task": 0,
    "a step after it became a task": 0,
    "a read after it became a task": 0,
    "a question": 0,
    "a step after a question": 0,
    "a step at which a run is cut": 0,
    "a step that waits for its next try": 0,
  });
});

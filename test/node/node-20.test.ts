/** What Node 20 does not have, and the entries for Node define. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";

test("the entry for Node defines Promise.withResolvers where it is missing, as in Node 20", () => {
  const entry = join(import.meta.dirname, "../../src/node/index.ts");
  const program = `await import(${JSON.stringify(entry)});
    const [kept, broken] = [Promise.withResolvers(), Promise.withResolvers()];
    kept.resolve("kept");
    broken.reject(new Error("broken"));
    console.log(await kept.promise, await broken.promise.catch(({ message }) => message));`;
  const missing = "data:text/javascript,delete Promise.withResolvers";
  const { stdout, stderr } = spawnSync(NODE, ["--import", missing, "--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect({ stdout, stderr }).toEqual({ stdout: "kept broken\n", stderr: "" });
});

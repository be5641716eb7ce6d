/** A bucket that fails: requests and calls say when to try again, and nothing is lost. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { FilesLab, put } from "./support.ts";

ignoreLogs(/^mcp-edge: |We encountered an internal error/);

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());
beforeEach(() => bucket("works"));

const LARGE = "1,2\n".repeat(300_000);
const bucket = (state: "works" | "fails") => fetch(lab.worker.url(`/bucket/${state}`), { method: "POST" });
const TRY_AGAIN = [503, "5", "Objects are temporarily unavailable. Try again in 5 s.\n"];

async function answerOf(response: Response): Promise<readonly unknown[]> {
  return [response.status, response.headers.get("retry-after"), await response.text()];
}

test("an upload whose bucket fails is asked to try again, and nothing is stored", async () => {
  const { file, url } = await lab.link("uploader");
  await bucket("fails");
  expect(await answerOf(await put(url, "a.csv", LARGE))).toEqual(TRY_AGAIN);
  await bucket("works");
  const { text } = await lab.call("measure", { any: file }, "uploader");
  expect(text).toMatch(/There is no such file yet/);
});

test("a download and a call whose bucket fails are asked to try again, and find the file later", async () => {
  const { result } = await lab.call("make", { name: "a.csv", type: "text/csv", text: LARGE }, "reader");
  const [{ uri } = { uri: "" }] = result.content as { uri: string }[];
  await bucket("fails");
  expect(await answerOf(await fetch(uri))).toEqual(TRY_AGAIN);
  for (const [name, args] of [
    ["measure", { any: uri }],
    ["make", { name: "b.csv", type: "text/csv", text: LARGE }],
  ] as const)
    expect((await lab.call(name, args, "reader")).text).toMatch(
      /"code":-32603,"message":"Objects are temporarily unavailable\. Try again in 5 s\."/,
    );
  await bucket("works");
  expect((await (await fetch(uri)).text()).length).toBe(LARGE.length);
  expect((await lab.call("measure", { any: uri }, "reader")).text).toContain(`"bytes":${LARGE.length}`);
});

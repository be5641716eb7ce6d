/** What uploads and downloads cost: requests to objects, and rows that are written. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Counts } from "../costs/counted.ts";
import { announce, FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start("test/files/fixtures/counted.ts");
});
afterAll(() => lab?.stop());

const LARGE = new Uint8Array(1_500_000).fill(65);
const HOUR_MS = 3_600_000;

/** What something costs: requests, alarms and rows. */
async function costsOf(work: () => Promise<unknown>): Promise<Partial<Counts>> {
  const read = async () => (await (await fetch(lab.worker.url("/counts"))).json()) as Counts;
  await read();
  await work();
  const { requests, alarms, rowsWritten } = await read();
  return { requests, alarms, rowsWritten };
}

/** Changes a link. Its last character may have bits without a meaning, so another one is changed. */
function alter(url: string): string {
  return url.replace(/.(.{20}\/)$/, (found, end) => (found.startsWith("A") ? "B" : "A") + end);
}

test("a link costs nothing, an upload at most two requests and three rows, and a download one request", async () => {
  let [small, large] = [await lab.link("ada"), await lab.link("ada")];
  expect(
    await costsOf(async () => {
      [small, large] = [await lab.link("ada"), await lab.link("ada")];
    }),
  ).toEqual({ requests: 0, alarms: 0, rowsWritten: 0 });
  // The first file of a caller also sets the alarm.
  expect(await costsOf(() => put(small.url, "a.txt", "a"))).toEqual({ requests: 1, alarms: 0, rowsWritten: 3 });
  expect(await costsOf(() => lab.upload("b.txt", "b", "ada"))).toEqual({ requests: 1, alarms: 0, rowsWritten: 2 });
  // The alarm is set for the end of the reservation, which is earlier.
  expect(await costsOf(() => put(large.url, "c.txt", LARGE))).toEqual({ requests: 2, alarms: 0, rowsWritten: 3 });
  expect(await costsOf(() => lab.call("measure", { any: large.file }, "ada"))).toEqual({
    requests: 1,
    alarms: 0,
    rowsWritten: 0,
  });
  const { result } = await lab.call("make", { name: "a.txt", type: "text/plain", text: "a" }, "eve");
  const [{ uri } = { uri: "" }] = result.content as { uri: string }[];
  expect(await costsOf(() => fetch(uri))).toEqual({ requests: 1, alarms: 0, rowsWritten: 0 });
  expect(await costsOf(() => fetch(alter(small.url)))).toEqual({
    requests: 0,
    alarms: 0,
    rowsWritten: 0,
  });
});

test("a refused upload writes nothing", async () => {
  const [{ url }, used] = [await lab.link("refused"), await lab.link("refused")];
  await put(used.url, "a.txt", "a");
  const nothing = { requests: 0, alarms: 0, rowsWritten: 0 };
  expect(await costsOf(() => announce(alter(url), "a.txt", LARGE.length))).toEqual(nothing);
  expect(await costsOf(() => put(url, "a.png", "not an image", "image/png"))).toEqual(nothing);
  expect(await costsOf(() => put(url, "a.txt", ""))).toEqual(nothing);
  expect(await costsOf(() => announce(url, "a.txt", 100_000_001))).toEqual(nothing);
  expect(await costsOf(() => fetch(url, { method: "POST", body: "a" }))).toEqual(nothing);
  for (const body of ["a", LARGE])
    expect(await costsOf(() => put(used.url, "a.txt", body))).toEqual({ ...nothing, requests: 1 });
  for (let file = 1; file < 5; file += 1) await lab.upload("a.txt", "a", "refused");
  for (const body of ["a", LARGE])
    expect(await costsOf(() => put(url, "a.txt", body))).toEqual({ ...nothing, requests: 1 });
  expect(await costsOf(() => lab.call("measure", { any: url }, "refused"))).toEqual({ ...nothing, requests: 1 });
});

test("only the bytes of a small file that a download asks for leave its object", async () => {
  const text = "0123456789".repeat(50_000);
  const { result } = await lab.call("make", { name: "a.txt", type: "text/plain", text }, "reader");
  const [{ uri } = { uri: "" }] = result.content as { uri: string }[];
  const movedBy = async (init: RequestInit) => {
    await fetch(lab.worker.url("/moved"));
    const response = await fetch(uri, init);
    await response.arrayBuffer();
    return [response.status, await (await fetch(lab.worker.url("/moved"))).json()];
  };
  expect(await movedBy({})).toEqual([200, 500_000]);
  expect(await movedBy({ method: "HEAD" })).toEqual([200, 0]);
  expect(await movedBy({ headers: { range: "bytes=10-19" } })).toEqual([206, 10]);
  expect(await movedBy({ headers: { range: "bytes=500000-" } })).toEqual([416, 0]);
});

test("a call without a file, and a file in its arguments, cost nothing", async () => {
  const any = `data:text/plain;base64,${btoa("a")}`;
  expect(await costsOf(() => lab.call("measure", { any }, "ada"))).toEqual({ requests: 0, alarms: 0, rowsWritten: 0 });
  expect(await costsOf(() => lab.call("lines", {}, "ada"))).toEqual({ requests: 0, alarms: 0, rowsWritten: 0 });
});

test("the deletion of all files of a caller costs a row for each, and a few alarms", async () => {
  const user = "many";
  for (const name of ["a", "b", "c", "d"]) await lab.upload(`${name}.txt`, name, user);
  const { requests, alarms = 0, rowsWritten = 0 } = await costsOf(() => lab.worker.advance(2 * HOUR_MS));
  expect(requests).toBe(0);
  // Four callers have files.
  expect(alarms).toBeLessThanOrEqual(8);
  expect(rowsWritten).toBeLessThanOrEqual(36);
});

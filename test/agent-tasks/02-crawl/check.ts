import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, connectTo, startProject, VERSIONS } from "../harness.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startProject();
});
afterAll(() => worker?.stop());

describe.each(VERSIONS)("in %s", (version) => {
  test("each page is reported", async () => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const reports: { progress: number; total?: number; message?: string }[] = [];
    const onProgress = (report: (typeof reports)[number]) => void reports.push(report);
    const { structuredContent } = await client.callTool("crawl", { pages: 6 }, { onProgress });
    expect(structuredContent).toEqual({ visited: 6 });
    expect(reports.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(reports[2]).toMatchObject({ progress: 3, total: 6, message: "Page 3 of 6" });
    expect((await call(client, "last_crawl")).value).toEqual({ visited: 6, finished: true });
    await client.close();
  });

  test("a cancelled crawl stops", async () => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const controller = new AbortController();
    const onProgress = ({ progress }: { progress: number }) => progress >= 3 && controller.abort();
    const calling = client.callTool("crawl", { pages: 200 }, { onProgress, signal: controller.signal });
    await expect(calling).rejects.toThrow();
    const state = async () => (await call(client, "last_crawl")).value as { visited: number; finished: boolean };
    // The pages that were visited before the cancellation arrived count.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const stopped = await state();
    expect(stopped).toEqual({ visited: expect.any(Number), finished: false });
    expect(stopped.visited).toBeLessThan(100);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await state()).toEqual(stopped);
    await client.close();
  });

  test.each([0, 201, 1.5, "many"])("%s pages are refused", async (pages) => {
    const client = await connectTo(worker, { protocolVersions: [version] });
    const before = (await call(client, "last_crawl")).value;
    expect((await call(client, "crawl", { pages })).isError).toBe(true);
    expect((await call(client, "last_crawl")).value).toEqual(before);
    await client.close();
  });
});

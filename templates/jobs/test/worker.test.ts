/** Tests jobs on real workerd, run by alarms and by a Workflow, with crashes, evictions, and sites that fail. */
import { startTask } from "mcp-edge/client/tasks";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, html, LEGACY, MODERN, open, readJob, Sites } from "./site.ts";

const sites = new Sites();
const start = (wrangler = "wrangler.toml") => startWorker({ wrangler, outbound: sites.answer });

describe.each(["wrangler.toml", "wrangler.workflow.toml"])("%s", (wrangler) => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await start(wrangler);
  });
  afterAll(() => worker?.stop());

  const connectWith = (version: string, options = {}) => open(worker.url("/mcp"), version, options);

  describe.each([MODERN, LEGACY])("in %s", (version) => {
    test("a job reports its progress, and its result lists the problems of the site", async () => {
      const site = sites.add(9);
      site.before = (path) => {
        if (path === "/page-1") return html("", "/none", "https://elsewhere.example.org/");
        if (path === "/page-2") return Response.redirect("https://elsewhere.example.org/", 302);
        return undefined;
      };
      const client = await connectWith(version);
      const seen: (string | undefined)[] = [];
      const task = await startTask(
        client,
        "check_site",
        { url: `${site.origin}/#top` },
        {
          onStatus: ({ statusMessage }) => seen.push(statusMessage),
        },
      );
      expect(task.id).toBeDefined();
      const { structuredContent } = await task.result();
      expect(structuredContent).toEqual({
        job: expect.any(String),
        site: `${site.origin}/`,
        checked: 10,
        unchecked: 0,
        problems: [
          { url: `${site.origin}/page-1`, problem: "has no title", linkedFrom: `${site.origin}/` },
          {
            url: `${site.origin}/page-2`,
            problem: "the server returns HTTP status 404",
            linkedFrom: `${site.origin}/`,
          },
          {
            url: `${site.origin}/none`,
            problem: "the server returns HTTP status 404",
            linkedFrom: `${site.origin}/page-1`,
          },
        ],
      });
      expect(seen).toContain("10 of 10 pages checked");
      const job = await readJob(client, site);
      expect(job).toMatchObject({ status: "completed", checked: 10, problems: 3 });
      expect(JSON.stringify(job)).not.toContain(String(task.id));
      const { contents } = await client.readResource(job.uri);
      expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ report: structuredContent });
      await client.close();
    });

    test("a job that asks a question survives eviction and a crash, and does not read a page twice", async () => {
      const site = sites.add(26);
      const statuses: string[] = [];
      const questions = new Set<string>();
      const client = await connectWith(version, {
        onElicit: async ({ message }: { message: string }) => {
          // After a crash, the server may repeat a question that has not been answered yet.
          if (!questions.has(message)) {
            questions.add(message);
            const other = await connectWith(MODERN);
            statuses.push((await readJob(other, site)).status);
            await other.close();
            expect(await worker.evict("JobListObject", "everyone")).toBe(1);
            expect(await worker.evict("McpObject")).toBeGreaterThan(0);
            await worker.restart();
          }
          return { action: "accept", content: { pages: 5 } };
        },
      });
      const task = await startTask(client, "check_site", { url: site.origin });
      const { structuredContent } = await task.result();
      expect(structuredContent).toMatchObject({ checked: 25, unchecked: 1, problems: [] });
      expect([...questions]).toEqual(["20 pages were checked, and 6 more are known. Continue?"]);
      expect(statuses).toEqual(["waiting"]);
      expect([...site.counts.values()]).toEqual(Array(25).fill(1));
      await client.close();
    });

    test("a job that is cancelled while it waits for an answer is shown as cancelled, and subscribers are notified", async () => {
      const site = sites.add(30);
      const asked = Promise.withResolvers<void>();
      const client = await connectWith(version, {
        onElicit: () => {
          asked.resolve();
          return new Promise(() => {});
        },
      });
      const task = await startTask(client, "check_site", { url: site.origin });
      const result = task.result().catch((error: unknown) => error);
      await asked.promise;
      const subscriber = await connectWith(version, {
        onResourceUpdated: async () => {
          if ((await readJob(subscriber, site)).status === "cancelled") learned.resolve();
        },
      });
      const learned = Promise.withResolvers<void>();
      await subscriber.subscribe("jobs://list");
      await task.cancel();
      await learned.promise;
      expect(await result).toMatchObject({ code: "cancelled" });
      expect(site.requests).toHaveLength(20);
      await subscriber.close();
      await client.close();
    });
  });

  test("a job continues after a crash in the middle of a page, and reads finished pages only once", async () => {
    const site = sites.add(12);
    const reached = Promise.withResolvers<void>();
    const crashed = Promise.withResolvers<undefined>();
    site.before = (path) => {
      if (path !== "/page-9") return undefined;
      reached.resolve();
      return site.counts.get(path) === 1 ? crashed.promise : undefined;
    };
    const client = await connectWith(MODERN);
    const task = await startTask(client, "check_site", { url: site.origin });
    await reached.promise;
    await worker.kill();
    crashed.resolve(undefined);
    await worker.restart();
    expect((await task.result()).structuredContent).toMatchObject({ checked: 12, problems: [] });
    expect(site.counts.get("/page-9")).toBe(2);
    expect(["/", "/page-1", "/page-4"].map((path) => site.counts.get(path))).toEqual([1, 1, 1]);
    await client.close();
  });

  test("a page is retried while the server is overloaded", async () => {
    const site = sites.add(3);
    site.before = (path) =>
      path === "/page-1" && (site.counts.get(path) ?? 0) < 3 ? new Response("busy", { status: 503 }) : undefined;
    const client = await connectWith(MODERN);
    const task = await startTask(client, "check_site", { url: site.origin });
    expect((await task.result()).structuredContent).toMatchObject({ checked: 3, problems: [] });
    expect(Object.fromEntries(site.counts)).toEqual({ "/": 1, "/page-1": 3, "/page-2": 1 });
    await client.close();
  });

  test("cancel_job ends a running job, and reports it", async () => {
    const site = sites.add(15);
    const reached = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<undefined>();
    site.before = (path) => {
      if (path !== "/page-5") return undefined;
      reached.resolve();
      return cancelled.promise;
    };
    const client = await connectWith(MODERN);
    const task = await startTask(client, "check_site", { url: site.origin });
    await reached.promise;
    const { id } = await readJob(client, site);
    expect(await call(client, "cancel_job", { id })).toBe("Cancelled.");
    cancelled.resolve(undefined);
    expect(await task.result()).toMatchObject({ isError: true, content: [{ text: "The job was cancelled." }] });
    expect(await call(client, "cancel_job", { id })).toBe("The job is already cancelled.");
    expect(await call(client, "list_jobs")).toContain(`${id} ${site.origin}/: cancelled`);
    // The first page, and then two batches of four pages.
    expect(site.requests).toHaveLength(9);
    await client.close();
  });
});

describe("by alarm", () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await start();
  });
  afterAll(() => worker?.stop());
  const connectWith = (version: string, options = {}) => open(worker.url("/mcp"), version, options);

  test.each([MODERN, LEGACY])(
    "a client without tasks gets the report as the result of its call (%s)",
    async (version) => {
      const site = sites.add(22);
      const client = await connectWith(version, {
        use: [],
        onElicit: () => ({ action: "accept", content: { pages: 1 } }),
      });
      const progress: number[] = [];
      const { structuredContent } = await client.callTool(
        "check_site",
        { url: site.origin },
        { onProgress: (each) => progress.push(each.progress) },
      );
      expect(structuredContent).toMatchObject({ checked: 21, unchecked: 1 });
      expect(progress.at(-1)).toBe(21);
      expect(await readJob(client, site)).toMatchObject({ status: "completed" });
      await client.close();
    },
  );

  test("if the user cannot be asked, the job ends after the first pages", async () => {
    const site = sites.add(25);
    const client = await connectWith(MODERN);
    const task = await startTask(client, "check_site", { url: site.origin });
    expect((await task.result()).structuredContent).toMatchObject({ checked: 20, unchecked: 5 });
    await client.close();
  });

  test.each([
    ["https://127.0.0.1/", "its address is not public"],
    ["https://router.local/", "its host is not public"],
    ["https://none.example.com/", "the server returns HTTP status 404"],
  ])("%s is refused, and its job has failed", async (url, why) => {
    const client = await connectWith(MODERN);
    expect(await call(client, "check_site", { url })).toMatch(new RegExp(`^Error: .*${why}`));
    expect(await call(client, "list_jobs")).toMatch(new RegExp(`${url}: failed, 0 pages checked, .*${why}`));
    await client.close();
  });

  test("the ids of jobs are completed", async () => {
    const client = await connectWith(MODERN);
    const site = sites.add(1);
    await call(client, "check_site", { url: site.origin });
    const { id } = await readJob(client, site);
    const reference = { type: "ref/resource", uri: "jobs://job/{id}" } as const;
    expect((await client.complete(reference, "id", id.slice(0, 8))).values).toEqual([id]);
    await expect(client.readResource(`jobs://job/${crypto.randomUUID()}`)).rejects.toThrow("Resource not found");
    expect(await call(client, "cancel_job", { id: crypto.randomUUID() })).toContain("Error: There is no job");
    await client.close();
  });
});

test("a job whose question is not answered for a day has expired", async () => {
  // A separate Worker, because its clock stays ahead, and alarms that other tests set would be due too late.
  await using own = await start();
  const site = sites.add(30);
  const asked = Promise.withResolvers<void>();
  const client = await open(own.url("/mcp"), MODERN, {
    onElicit: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const task = await startTask(client, "check_site", { url: site.origin });
  task.result().catch(() => undefined);
  await asked.promise;
  await own.advance(24 * 60 * 60_000 + 1);
  expect(await readJob(client, site)).toMatchObject({ status: "expired", checked: 20 });
  await client.close();
});

test("the list keeps the newest 50 jobs", async () => {
  await using own = await start();
  const client = await open(own.url("/mcp"), MODERN);
  const check = (n: number) => call(client, "check_site", { url: `https://site-${n}.example.com/` });
  await check(0);
  await Promise.all(Array.from({ length: 49 }, (_, n) => check(n + 1)));
  await check(50);
  const listed = await call(client, "list_jobs");
  expect(listed.split("\n")).toHaveLength(50);
  expect(listed).toContain("site-50.");
  expect(listed).not.toContain("site-0.");
  await client.close();
});

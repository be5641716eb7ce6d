/**
 * The job: checks the pages of a site, as straight-line code. As a task, it may take hours, wait a day for an answer, and lose its
 * object at any moment. In that case, this handler runs again from the top, and finished steps and answered questions return their
 * stored results immediately. So everything that reads or changes data must be a step.
 */
import { type HandlerContext, QuestionError, retrying, ToolError } from "mcp-edge";
import * as z from "zod";
import { type JobsEnv, openJobList, type Status } from "./job-list.ts";
import { type Page, readPage } from "./page.ts";
import type { Report } from "./report.ts";

/** The number of pages that are read at the same time. */
const AT_ONCE = 4;
/** The number of pages after which the user is asked whether to continue. */
const FIRST_PAGES = 20;
const PAGES_MAX = 500;

type Ctx = HandlerContext<JobsEnv>;

/** Checks a site. Returns the report. @param onChange Called when the list of jobs has changed. */
export async function checkSite(start: URL, ctx: Ctx, onChange: (id: string) => void): Promise<Report> {
  const jobs = openJobList(ctx.env, ctx.auth);
  const id = await ctx.step("id", () => crypto.randomUUID());
  await ctx.step("begin", () => jobs.begin(id, start.href, ctx.taskId));
  onChange(id);
  try {
    const report = await checkPages(id, start, ctx, onChange);
    await ctx.step("finish", () => jobs.finish(id, { status: "completed", report }));
    return report;
  } catch (error) {
    // This is not reached when a run only ends with a question, or is lost, because another run continues then.
    const problem = error instanceof ToolError ? error.message : "an internal error";
    await jobs.finish(id, ctx.signal.aborted ? { status: "cancelled" } : { status: "failed", problem });
    throw error;
  } finally {
    onChange(id);
  }
}

async function checkPages(id: string, start: URL, ctx: Ctx, onChange: (id: string) => void): Promise<Report> {
  const jobs = openJobList(ctx.env, ctx.auth);
  /** The known pages, each with the first page that links to it. */
  const found = new Map<string, string | undefined>([[start.href, undefined]]);
  const pages: Page[] = [];
  const reportProgress = async (name: string, status: Status) => {
    const progress = { status, checked: pages.length, found: found.size };
    const { isCancelled } = await ctx.step(`${name} after ${pages.length} pages`, async () => {
      const stored = await jobs.progress(id, progress);
      onChange(id);
      return stored;
    });
    if (isCancelled) throw new ToolError("The job was cancelled.");
  };

  let allowed = FIRST_PAGES;
  while (pages.length < found.size) {
    if (pages.length === FIRST_PAGES) {
      await reportProgress("ask", "waiting");
      allowed += await askForMore(found.size - pages.length, ctx);
      await reportProgress("go on", "working");
    }
    if (pages.length === allowed) break;
    const urls = [...found.keys()].slice(pages.length, Math.min(pages.length + AT_ONCE, allowed));
    const read = await Promise.all(urls.map((url) => checkPage(url, ctx)));
    for (const page of read) {
      pages.push(page);
      for (const link of page.links) if (!found.has(link) && found.size < PAGES_MAX) found.set(link, page.url);
    }
    const [first] = pages;
    if (first?.problem && first.links.length === 0)
      throw new ToolError(`${first.url} cannot be checked: ${first.problem}.`);
    await reportProgress("progress", "working");
    // In a task, this sets the status message; otherwise it sends a notification.
    ctx.progress(pages.length, { total: found.size, message: `${pages.length} of ${found.size} pages checked` });
  }
  const problems = pages.flatMap(({ url, problem }) => {
    const linkedFrom = found.get(url);
    return problem ? [{ url, problem, ...(linkedFrom ? { linkedFrom } : {}) }] : [];
  });
  return { job: id, site: start.href, checked: pages.length, unchecked: found.size - pages.length, problems };
}

/**
 * Reads a page, and retries up to three times if the server is overloaded. In a task, retries are counted even if the object is lost,
 * and the object sleeps while it is only waiting for retries.
 */
async function checkPage(url: string, ctx: Ctx): Promise<Page> {
  const read = retrying(() => readPage(url, ctx.signal), { retries: 3, backoffMs: 2_000, signal: ctx.signal });
  try {
    return await ctx.step(`read ${url}`, read);
  } catch (error) {
    ctx.signal.throwIfAborted();
    return { url, problem: error instanceof Error ? error.message : "no response", links: [] };
  }
}

const more = z.object({
  pages: z.number().int().min(0).max(PAGES_MAX).meta({ title: "How many more pages" }),
});

/** Asks the user how many more pages to check. Returns 0 if the user cannot be asked. */
async function askForMore(left: number, ctx: Ctx): Promise<number> {
  try {
    const answer = await ctx.elicit(`${FIRST_PAGES} pages were checked, and ${left} more are known. Continue?`, more);
    return answer.action === "accept" ? answer.content.pages : 0;
  } catch (error) {
    if (error instanceof QuestionError) return 0;
    throw error;
  }
}

/** The server, with its tools and resources. index.ts and workflow.ts serve it as a Worker, stdio.ts over standard input and output. */
import { McpServer, ToolError } from "mcp-edge";
import * as z from "zod";
import { checkSite } from "./check-site.ts";
import { type Job, type JobsEnv, openJobList } from "./job-list.ts";
import { reportSchema } from "./report.ts";

const LIST = "jobs://list";
const toUri = (id: string) => `jobs://job/${id}`;

export const server = new McpServer<JobsEnv>({
  name: "jobs",
  title: "Site checker",
  version: "1.0.0",
  instructions: "Checks the pages of web sites in the background. Subscribe to jobs://list to be notified of changes.",
  // The client may cancel a task while it waits for an answer or a retry, when no handler is running that could notice.
  onRequestEnd: async ({ taskId, taskStatus, env, principal }) => {
    if (!taskId || !taskStatus) return;
    const id = await openJobList(env, principal).finishTask(taskId, taskStatus);
    if (id) notify(id);
  },
});

/** Notifies subscribers that a job has changed, so that they read it again. */
function notify(id: string): void {
  server.resourceUpdated(LIST);
  server.resourceUpdated(toUri(id));
}

server.tool(
  "check_site",
  {
    title: "Check a site",
    description:
      "Check the pages of a web site for broken links, missing titles and errors. After 20 pages, it asks how many more to check.",
    input: z.object({
      url: z
        .url({ protocol: /^https$/ })
        .max(2_000)
        .describe("The page to start from"),
    }),
    output: reportSchema,
    // Clients that support tasks receive a task immediately. For other clients, it is a long call.
    task: "optional",
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  ({ url }, ctx) => {
    const start = new URL(url);
    start.hash = "";
    return checkSite(start, ctx, notify);
  },
);

const id = z.uuid().describe("The id of a job, from list_jobs");

server.tool(
  "list_jobs",
  {
    title: "List jobs",
    description: "List all jobs with their status",
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async (_, ctx) => {
    const jobs = await openJobList(ctx.env, ctx.auth).all();
    return jobs.map(describeJob).join("\n") || "There are no jobs.";
  },
);

server.tool(
  "cancel_job",
  {
    title: "Cancel a job",
    description: "Cancel a job. It ends before its next page.",
    input: z.object({ id }),
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  async (input, ctx) => {
    const job = await openJobList(ctx.env, ctx.auth).cancel(input.id);
    if (!job) throw new ToolError(`There is no job ${input.id}. Call list_jobs.`);
    notify(input.id);
    return job.status === "working" || job.status === "waiting" ? "Cancelled." : `The job is already ${job.status}.`;
  },
);

server.resource(
  LIST,
  {
    name: "list",
    title: "All jobs",
    description: "The jobs with their status, newest first",
    mimeType: "application/json",
  },
  async (_, ctx) => JSON.stringify((await openJobList(ctx.env, ctx.auth).all()).map(withoutReport), null, 2),
);

server.resourceTemplate(
  "jobs://job/{id}",
  {
    name: "job",
    title: "A job",
    description: "A job with its report",
    mimeType: "application/json",
    complete: {
      id: async (typed, _chosen, ctx) =>
        (await openJobList(ctx.env, ctx.auth).all()).map((job) => job.id).filter((each) => each.startsWith(typed)),
    },
  },
  async (_, variables, ctx) => {
    const job = await openJobList(ctx.env, ctx.auth).find(String(variables.id));
    // Undefined means that there is no such resource.
    return job && JSON.stringify(publicPart(job), null, 2);
  },
);

/** Removes the id of the task from a job, because anyone who knows it could control the task. */
function publicPart({ taskId: _, startedAtMs, changedAtMs, ...job }: Job) {
  return { ...job, startedAt: new Date(startedAtMs).toISOString(), changedAt: new Date(changedAtMs).toISOString() };
}

function withoutReport(job: Job) {
  const { report, ...rest } = publicPart(job);
  return { ...rest, uri: toUri(job.id), ...(report ? { problems: report.problems.length } : {}) };
}

function describeJob({ id, site, status, checked, found, report, problem }: Job): string {
  const more = problem ?? (report ? `${report.problems.length} problems, see ${toUri(id)}` : `${found} pages known`);
  return `${id} ${site}: ${status}, ${checked} pages checked, ${more}`;
}

/**
 * The server over standard input and output, for clients that start it as a process. Tasks are not available here: a check is an
 * ordinary call, and the list of jobs is lost when the process ends.
 */
import { serveStdio } from "mcp-edge/node";
import { type Job, JobList, remote } from "./job-list.ts";
import { server } from "./jobs.ts";

const jobs = new Map<string, Job>();
const list = remote(
  new JobList({
    all: () => [...jobs.values()],
    put: (job) => void jobs.set(job.id, job),
    remove: (id) => void jobs.delete(id),
  }),
);

await serveStdio(server, { env: { JOBS: { getByName: () => list } } });

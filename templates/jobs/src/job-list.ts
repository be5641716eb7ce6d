/**
 * The list of one caller's jobs: the logic, independent of where the jobs are stored. job-list-object.ts stores them in a Durable
 * Object, stdio.ts in memory.
 */
import type { Principal } from "mcp-edge";
import type { Report } from "./report.ts";

export type Status = "working" | "waiting" | "completed" | "failed" | "cancelled" | "expired";

export interface Job {
  readonly id: string;
  readonly site: string;
  /** `waiting` means waiting for the user's answer. The last four values are final. */
  readonly status: Status;
  /** The number of checked pages, and the number of known pages. */
  readonly checked: number;
  readonly found: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly changedAtMs: number;
  /** The id of the task that runs the job, if any. It is not shown, because anyone who knows it may control the task. */
  readonly taskId?: string | undefined;
  readonly report?: Report | undefined;
  /** Why the job failed. */
  readonly problem?: string | undefined;
}

export type Progress = Pick<Job, "status" | "checked" | "found">;
export type TaskEnd = "completed" | "failed" | "cancelled" | "expired";

/** Stores the jobs of one caller. */
export interface JobStore {
  all(): Job[];
  put(job: Job): void;
  remove(id: string): void;
}

/** The maximum number of jobs in a list. The oldest jobs are removed. */
const JOBS_MAX = 50;
/** Tasks are kept for one day. A job that has not changed for longer belongs to a call that its client has abandoned. */
const EXPIRES_AFTER_MS = 24 * 60 * 60_000;

const isOpen = ({ status }: Job): boolean => status === "working" || status === "waiting";

export class JobList {
  readonly #store: JobStore;

  constructor(store: JobStore) {
    this.#store = store;
  }

  /** Adds a job. It may be called again for the same job, because a lost step is repeated. */
  begin(id: string, site: string, taskId?: string): void {
    if (this.find(id)) return;
    const nowMs = Date.now();
    this.#store.put({
      id,
      site,
      status: "working",
      checked: 0,
      found: 1,
      startedAtMs: nowMs,
      changedAtMs: nowMs,
      taskId,
    });
    for (const { id: oldest } of this.all().slice(JOBS_MAX)) this.#store.remove(oldest);
  }

  /** Stores the progress of a job. Returns whether the job was cancelled. */
  progress(id: string, progress: Progress): { isCancelled: boolean } {
    const job = this.find(id);
    const goesOn = job !== undefined && isOpen(job);
    if (goesOn) this.#change(job, progress);
    return { isCancelled: !goesOn };
  }

  /** Ends a job, unless it has already ended. A cancelled job stays cancelled. */
  finish(id: string, end: Pick<Job, "status" | "report" | "problem">): void {
    const job = this.find(id);
    if (job && isOpen(job)) this.#change(job, end);
  }

  /** Ends the job of a task. Returns the job's id, or undefined if the job had already ended. */
  finishTask(taskId: string, status: TaskEnd): string | undefined {
    const job = this.#store.all().find((each) => each.taskId === taskId);
    if (!job || !isOpen(job)) return undefined;
    this.#change(job, { status });
    return job.id;
  }

  /** Cancels a job, which then ends before its next page. Returns the job as it was before, or undefined if it does not exist. */
  cancel(id: string): Job | undefined {
    const job = this.find(id);
    if (job && isOpen(job)) this.#change(job, { status: "cancelled" });
    return job;
  }

  find(id: string): Job | undefined {
    return this.all().find((job) => job.id === id);
  }

  /** Returns all jobs, newest first. */
  all(): Job[] {
    const sinceMs = Date.now() - EXPIRES_AFTER_MS;
    return this.#store
      .all()
      .map((job) => (isOpen(job) && job.changedAtMs < sinceMs ? { ...job, status: "expired" as const } : job))
      .sort((one, other) => other.startedAtMs - one.startedAtMs || (one.id < other.id ? -1 : 1));
  }

  #change(job: Job, changes: Partial<Job>): void {
    this.#store.put({ ...job, ...changes, changedAtMs: Date.now() });
  }
}

/** A list that is called over RPC. Every method returns a promise. */
export type RemoteJobList = {
  [Name in keyof JobList]: (...args: Parameters<JobList[Name]>) => Promise<ReturnType<JobList[Name]>>;
};

/** Wraps a list in this process, so that it has the same asynchronous methods as a Durable Object. */
export function remote(list: JobList): RemoteJobList {
  return {
    begin: async (...args) => list.begin(...args),
    progress: async (...args) => list.progress(...args),
    finish: async (...args) => list.finish(...args),
    finishTask: async (...args) => list.finishTask(...args),
    cancel: async (...args) => list.cancel(...args),
    find: async (...args) => list.find(...args),
    all: async () => list.all(),
  };
}

/** The bindings that the server uses. On stdio, stdio.ts provides them. */
export interface JobsEnv {
  readonly JOBS: { getByName(owner: string): RemoteJobList };
}

/** Returns the list of a caller. Callers that do not sign in share one list. */
export function openJobList({ JOBS }: JobsEnv, principal: Principal | undefined): RemoteJobList {
  return JOBS.getByName(principal ? `${principal.issuer} ${principal.subject}` : "everyone");
}

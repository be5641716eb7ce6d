/**
 * The list of one caller's jobs: the rules, apart from the place where the jobs are kept. job-list-object.ts keeps them in a
 * Durable Object, stdio.ts in memory.
 */
import type { Principal } from "mcp-edge";
import type { Report } from "./report.ts";

export type Status = "working" | "waiting" | "completed" | "failed" | "cancelled" | "expired";

export interface Job {
  readonly id: string;
  readonly site: string;
  /** `waiting`: for the user's answer. The last four are final. */
  readonly status: Status;
  /** The pages that were checked, and those that are known. */
  readonly checked: number;
  readonly found: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly changedAtMs: number;
  /** The task that runs the job, if it is one. Whoever knows its id may control it, so it is not shown. */
  readonly taskId?: string | undefined;
  readonly report?: Report | undefined;
  /** Why the job failed. */
  readonly problem?: string | undefined;
}

export type Progress = Pick<Job, "status" | "checked" | "found">;
export type TaskEnd = "completed" | "failed" | "cancelled" | "expired";

/** The place where the jobs of one caller are kept. */
export interface JobStore {
  all(): Job[];
  put(job: Job): void;
  remove(id: string): void;
}

/** The oldest jobs beyond this number are removed. */
const JOBS_MAX = 50;
/** Tasks are kept for a day. A job without a change for longer belongs to a call that its client has given up. */
const EXPIRES_AFTER_MS = 24 * 60 * 60_000;

const isOpen = ({ status }: Job): boolean => status === "working" || status === "waiting";

export class JobList {
  readonly #store: JobStore;

  constructor(store: JobStore) {
    this.#store = store;
  }

  /** Adds a job. It may be called again for the same one, because a step that was lost is repeated. */
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

  /** Stores how far a job is, and says whether it should go on. */
  progress(id: string, progress: Progress): { isCancelled: boolean } {
    const job = this.find(id);
    const goesOn = job !== undefined && isOpen(job);
    if (goesOn) this.#change(job, progress);
    return { isCancelled: !goesOn };
  }

  /** Ends a job. The first end counts: a job that was cancelled stays cancelled. */
  finish(id: string, end: Pick<Job, "status" | "report" | "problem">): void {
    const job = this.find(id);
    if (job && isOpen(job)) this.#change(job, end);
  }

  /** Ends the job that a task ran. Returns its id if that was not known yet. */
  finishTask(taskId: string, status: TaskEnd): string | undefined {
    const job = this.#store.all().find((each) => each.taskId === taskId);
    if (!job || !isOpen(job)) return undefined;
    this.#change(job, { status });
    return job.id;
  }

  /** Cancels a job, which ends before its next page. Returns what the job was, or undefined if there is none. */
  cancel(id: string): Job | undefined {
    const job = this.find(id);
    if (job && isOpen(job)) this.#change(job, { status: "cancelled" });
    return job;
  }

  find(id: string): Job | undefined {
    return this.all().find((job) => job.id === id);
  }

  /** Returns all jobs, the newest first. */
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

/** A list that is called from elsewhere, such as another machine: every function returns a promise. */
export type RemoteJobList = {
  [Name in keyof JobList]: (...args: Parameters<JobList[Name]>) => Promise<ReturnType<JobList[Name]>>;
};

/** Gives a list in this process the functions with promises that an object at the edge has. */
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

/** Returns the list of a caller. Callers that do not sign in share one. */
export function openJobList({ JOBS }: JobsEnv, principal: Principal | undefined): RemoteJobList {
  return JOBS.getByName(principal ? `${principal.issuer} ${principal.subject}` : "everyone");
}

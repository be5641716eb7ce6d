/** Stores the list of one caller's jobs in its own Durable Object. */
import { DurableObject } from "cloudflare:workers";
import { type Job, JobList, type Progress, type TaskEnd } from "./job-list.ts";

export class JobListObject extends DurableObject<Env> {
  readonly #list = new JobList({
    all: () => [...this.ctx.storage.kv.list<Job>()].map(([, job]) => job),
    put: (job) => this.ctx.storage.kv.put(job.id, job),
    remove: (id) => void this.ctx.storage.kv.delete(id),
  });

  // Only these methods can be called over RPC.
  begin(id: string, site: string, taskId?: string) {
    return this.#list.begin(id, site, taskId);
  }
  progress(id: string, progress: Progress) {
    return this.#list.progress(id, progress);
  }
  finish(id: string, end: Pick<Job, "status" | "report" | "problem">) {
    return this.#list.finish(id, end);
  }
  finishTask(taskId: string, end: TaskEnd) {
    return this.#list.finishTask(taskId, end);
  }
  cancel(id: string) {
    return this.#list.cancel(id);
  }
  find(id: string) {
    return this.#list.find(id);
  }
  all() {
    return this.#list.all();
  }
}

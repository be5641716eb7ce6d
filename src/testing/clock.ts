/**
 * Moves what a Worker takes for now. Exported by the bundled Worker under a name of the harness, and reached by nothing
 * else. Until it is first called, `Date` is the runtime's own.
 *
 * This file runs in workerd, not in Node.
 */
import { WorkerEntrypoint } from "cloudflare:workers";

let offsetMs = 0;
let isMoved = false;

/** Its name is CLOCK of names.ts. */
export class McpEdgeTestingClock extends WorkerEntrypoint {
  /** Sets how far ahead this isolate's clock is. */
  moveTo(ms: number): void {
    offsetMs = ms;
    if (!isMoved) replaceDate();
    isMoved = true;
  }
}

function replaceDate(): void {
  const RealDate = Date;
  const realNow = Date.now.bind(Date);
  const now = () => realNow() + offsetMs;
  RealDate.now = now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  });
}

/**
 * Moves the clock of a Worker. The bundled Worker exports this class only for the test harness. Until its method is first called,
 * `Date` is not replaced.
 *
 * This file runs in workerd, not in Node.
 */
import { WorkerEntrypoint } from "cloudflare:workers";

let offsetMs = 0;
let isMoved = false;

/** The name must equal CLOCK in names.ts. */
export class McpEdgeTestingClock extends WorkerEntrypoint {
  /** Sets how far the clock of this isolate is ahead, in milliseconds. */
  moveTo(ms: number): void {
    moveClock(ms);
  }
}

/** Sets by how many milliseconds the clock of this isolate is ahead. */
export function moveClock(ms: number): void {
  offsetMs = ms;
  if (!isMoved) replaceDate();
  isMoved = true;
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

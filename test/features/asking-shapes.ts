/**
 * Handlers that mix questions with things outside of the context: timers, branches, callbacks. Each has its expected
 * outcome when every question is answered with its own text.
 */
import type { HandlerContext } from "../../src/core/index.ts";

type Ctx = HandlerContext<never>;

export interface Shape {
  run(ctx: Ctx): Promise<string>;
  /** The expected result; absent if the handler cannot finish. */
  readonly text?: string;
  /**
   * The error that `onError` gets where a question ends the run. If the handler waits forever, it is the tool's
   * timeout.
   */
  readonly fails?: RegExp;
  /** The error where the client is asked while the handler runs. If absent, the handler returns `text` there. */
  readonly failsLive?: RegExp;
}

const FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const never = new Promise<never>(() => undefined);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const nameOf = async (ctx: Ctx, message: string) => {
  const answer = await ctx.elicit(message, FORM);
  return answer.action === "accept" ? String(answer.content.name) : answer.action;
};
const later = async (ctx: Ctx, ms: number, message: string) => {
  await sleep(ms);
  return nameOf(ctx, message);
};
const joined = async (branches: readonly Promise<unknown>[]) => (await Promise.all(branches)).join(" ");

const telling = async (asking: Promise<string>, tell: (name: string) => void) => {
  const name = await asking;
  tell(name);
  return name;
};

const IN_STEP = /Step "s" asks elicitation\/create/;
/** The error of a question that waited too long for a step to end. */
export const STALLED = /step "s".*limits\.elicitTimeoutMs/;
const TOO_LATE = /did not finish within/;

export const SHAPES: Readonly<Record<string, Shape>> = {
  "a question after a timer": { run: (ctx) => later(ctx, 50, "a"), text: "a" },
  "a timer between questions": {
    run: async (ctx) => `${await nameOf(ctx, "a")} ${await later(ctx, 50, "b")}`,
    text: "a b",
  },
  "one branch asks at once, another after a timer": {
    run: (ctx) => joined([nameOf(ctx, "a"), later(ctx, 20, "b")]),
    text: "a b",
  },
  "branches ask after timers, the first last": {
    run: (ctx) => joined([later(ctx, 80, "a"), later(ctx, 20, "b"), later(ctx, 50, "c")]),
    text: "a b c",
  },
  "a branch asks repeatedly while others sleep": {
    run: (ctx) => joined([later(ctx, 30, "a"), (async () => (await nameOf(ctx, "b")) + (await later(ctx, 10, "c")))()]),
    text: "a bc",
  },
  "a step beside a branch that sleeps and asks": {
    run: (ctx) => joined([ctx.step("s", () => sleep(60).then(() => "done")), later(ctx, 20, "a")]),
    text: "done a",
  },
  "a branch asks after a step, another after a timer": {
    run: (ctx) => joined([ctx.step("s", () => sleep(10)).then(() => nameOf(ctx, "a")), later(ctx, 30, "b")]),
    text: "a b",
  },
  "a callback of a timer asks": {
    run: (ctx) => new Promise((resolve, reject) => setTimeout(() => nameOf(ctx, "a").then(resolve, reject), 20)),
    text: "a",
  },
  "one question waits for another to be answered": {
    run: (ctx) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      return joined([promise.then(() => nameOf(ctx, "b")), telling(nameOf(ctx, "a"), resolve)]);
    },
    text: "b a",
  },
  "an iterator asks": {
    run: async (ctx) => {
      const names: string[] = [];
      for await (const name of asking(ctx, ["a", "b", "c"])) names.push(name);
      return names.join(" ");
    },
    text: "a b c",
  },
  "a branch fails after a timer, and the handler asks instead": {
    run: async (ctx) => {
      const failing = sleep(20).then(() => Promise.reject(new Error("failed")));
      return joined([nameOf(ctx, "a"), failing]).catch(() => nameOf(ctx, "b"));
    },
    text: "b",
  },
  "a race of two questions": {
    run: (ctx) => Promise.race([nameOf(ctx, "a"), sleep(60_000).then(() => "slept")]),
    text: "a",
  },
  "a step asks after a timer": {
    run: (ctx) => ctx.step("s", () => later(ctx, 10, "a")),
    fails: IN_STEP,
    failsLive: IN_STEP,
  },
  "a step asks after a step within it": {
    run: (ctx) => ctx.step("s", async () => `${await ctx.step("inner", () => "done")} ${await nameOf(ctx, "a")}`),
    fails: IN_STEP,
    failsLive: IN_STEP,
  },
  "a step waits for a question asked before it": {
    run: (ctx) => {
      const name = nameOf(ctx, "a");
      return ctx.step("s", () => name);
    },
    text: "a",
    fails: STALLED,
  },
  "a step waits for a branch that asks after a timer": {
    run: async (ctx) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const asking = telling(later(ctx, 10, "a"), resolve);
      return joined([ctx.step("s", () => promise), asking]);
    },
    text: "a a",
    fails: STALLED,
  },
  "one branch waits for something that never happens": {
    run: (ctx) => joined([nameOf(ctx, "a"), never]),
    fails: TOO_LATE,
    failsLive: TOO_LATE,
  },
  "one branch asks again, another waits for something that never happens": {
    run: (ctx) => joined([later(ctx, 10, "a").then(() => later(ctx, 10, "b")), never]),
    fails: TOO_LATE,
    failsLive: TOO_LATE,
  },
};

async function* asking(ctx: Ctx, messages: readonly string[]) {
  for (const message of messages) {
    await sleep(5);
    yield await nameOf(ctx, message);
  }
}

/**
 * Handlers as data: what one asks, does, waits for, catches and repeats, for one interpreter to run. Between answers the
 * interpreter does the same each time, as a handler must.
 */
import * as fc from "fast-check";
import * as z from "zod";
import type { HandlerContext } from "../../src/core/index.ts";

export type Kind = "form" | "raw" | "sample" | "roots" | "url";

export type Script =
  /** `id` is unique among the nodes of a script. @see withIds */
  | { readonly do: "ask"; readonly kind: Kind; readonly isKeyed: boolean; readonly id: number }
  | { readonly do: "step"; readonly gives: "value" | "nothing" | "failure"; readonly ms: number; readonly id: number }
  | { readonly do: "wait"; readonly turns: number; readonly ms: number }
  | { readonly do: "throw" }
  | { readonly do: "all" | "sequence"; readonly parts: readonly Script[] }
  | { readonly do: "loop"; readonly times: number; readonly body: Script }
  | { readonly do: "branch"; readonly id: number; readonly yes: Script; readonly no: Script }
  | { readonly do: "try"; readonly body: Script; readonly failed: Script };

/** What a script needs of its context. */
export type Asking = Pick<HandlerContext, "elicit" | "elicitUrl" | "sample" | "listRoots" | "step">;

/** Called by each step as it is done. */
export type OnEffect = (key: string, hasFailed: boolean) => void;

const FORM = z.object({ value: z.string() });
const RAW = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs a script; gives everything it was told, in the order of the script. */
export async function runScript(script: Script, ctx: Asking, onEffect: OnEffect): Promise<unknown> {
  switch (script.do) {
    case "ask":
      return ask(script, ctx);
    case "step":
      return ctx.step(`step ${script.id}`, async ({ key }) => {
        if (script.ms > 0) await pause(script.ms);
        onEffect(key, script.gives === "failure");
        if (script.gives === "failure") throw new Error(`step ${script.id} failed`);
        return script.gives === "value" ? { of: key.slice(key.indexOf("/")) } : undefined;
      });
    case "wait":
      for (let turn = 0; turn < script.turns; turn += 1) await undefined;
      if (script.ms > 0) await pause(script.ms);
      return "waited";
    case "throw":
      throw new Error("thrown");
    case "sequence": {
      const told: unknown[] = [];
      for (const part of script.parts) told.push(await runScript(part, ctx, onEffect));
      return told;
    }
    case "all": {
      // All of them come to an end: what goes on behind a failed Promise.all depends on who is faster.
      const ends = await Promise.allSettled(script.parts.map((part) => runScript(part, ctx, onEffect)));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
      return ends.map((end) => end.status === "fulfilled" && end.value);
    }
    case "loop": {
      const told: unknown[] = [];
      for (let time = 0; time < script.times; time += 1) told.push(await runScript(script.body, ctx, onEffect));
      return told;
    }
    case "branch": {
      const told = await ctx.elicit(`question ${script.id}`, RAW);
      return runScript(told.action === "accept" ? script.yes : script.no, ctx, onEffect);
    }
    case "try":
      try {
        return await runScript(script.body, ctx, onEffect);
      } catch (error) {
        return [(error as Error).message, await runScript(script.failed, ctx, onEffect)];
      }
  }
}

function ask({ kind, isKeyed, id }: Script & { do: "ask" }, ctx: Asking): Promise<unknown> {
  const message = `question ${id}`;
  const options = isKeyed ? { key: `key ${id}` } : {};
  switch (kind) {
    case "form":
      return ctx.elicit(message, FORM, options);
    case "raw":
      return ctx.elicit(message, RAW, options);
    case "url":
      return ctx
        .elicitUrl({ message, url: "https://go.example/" }, options)
        .then(({ action, elicitationId }) => [action, elicitationId.length]);
    case "roots":
      return ctx.listRoots(options);
    case "sample":
      return ctx.sample(
        { messages: [{ role: "user", content: { type: "text", text: message } }], maxTokens: 5 },
        options,
      );
  }
}

const leaf: fc.Arbitrary<Script> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      kind: fc.constantFrom<Kind>("form", "raw", "sample", "roots", "url"),
      isKeyed: fc.boolean(),
      id: fc.constant(0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("step" as const),
      gives: fc.constantFrom("value" as const, "value" as const, "nothing" as const, "failure" as const),
      ms: fc.constantFrom(0, 0, 3),
      id: fc.constant(0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), turns: fc.nat(3), ms: fc.constantFrom(0, 0, 1, 4) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "throw" as const }) },
);

/** Scripts of up to 14 questions. */
export const scripts: fc.Arbitrary<Script> = fc
  .letrec<{ script: Script; parts: Script }>((tie) => ({
    script: fc.oneof(
      { maxDepth: 4, depthSize: "small", withCrossShrink: true },
      { weight: 2, arbitrary: leaf },
      { weight: 3, arbitrary: tie("parts") },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("loop" as const),
          times: fc.integer({ min: 2, max: 3 }),
          body: tie("script"),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("branch" as const),
          id: fc.constant(0),
          yes: tie("script"),
          no: tie("script"),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant("try" as const), body: tie("script"), failed: tie("script") }),
      },
    ),
    parts: fc.record({
      do: fc.constantFrom("sequence" as const, "all" as const),
      parts: fc.array(tie("script"), { minLength: 2, maxLength: 4 }),
    }),
  }))
  .parts.map((script) => withIds(script, { next: 0 }))
  .filter((script) => weight(script) <= 14);

/** The same with an id for each node that asks or does: equal ones at once could not be told apart. */
function withIds(script: Script, count: { next: number }): Script {
  switch (script.do) {
    case "ask":
    case "step":
      count.next += 1;
      return { ...script, id: count.next };
    case "all":
    case "sequence":
      return { ...script, parts: script.parts.map((part) => withIds(part, count)) };
    case "loop":
      return { ...script, body: withIds(script.body, count) };
    case "branch":
      count.next += 1;
      return { ...script, id: count.next, yes: withIds(script.yes, count), no: withIds(script.no, count) };
    case "try":
      return { ...script, body: withIds(script.body, count), failed: withIds(script.failed, count) };
    default:
      return script;
  }
}

/** At most how often it asks. */
function weight(script: Script): number {
  switch (script.do) {
    case "ask":
      return 1;
    case "all":
    case "sequence":
      return script.parts.reduce((sum, part) => sum + weight(part), 0);
    case "loop":
      return script.times * weight(script.body);
    case "branch":
      return 1 + Math.max(weight(script.yes), weight(script.no));
    case "try":
      return weight(script.body) + weight(script.failed);
    default:
      return 0;
  }
}

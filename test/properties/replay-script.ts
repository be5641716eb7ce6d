/**
 * Handlers as data: what a handler asks, does, waits for, catches and repeats, run by one interpreter. Between answers the
 * interpreter is deterministic, as a handler must be.
 */
import * as z from "zod";
import type { HandlerContext } from "../../src/core/index.ts";

export type Kind = "form" | "raw" | "sample" | "roots" | "url";

export type Script =
  /** `id` is unique among the nodes of a script. @see withIds */
  | { readonly do: "ask"; readonly kind: Kind; readonly isKeyed: boolean; readonly id: number }
  | { readonly do: "step"; readonly gives: "value" | "nothing" | "failure"; readonly ms: number; readonly id: number }
  | { readonly do: "wait"; readonly turns: number; readonly ms: number }
  | { readonly do: "throw" | "task" }
  | { readonly do: "all" | "sequence"; readonly parts: readonly Script[] }
  | { readonly do: "loop"; readonly times: number; readonly body: Script }
  | { readonly do: "branch"; readonly id: number; readonly yes: Script; readonly no: Script }
  | { readonly do: "try"; readonly body: Script; readonly failed: Script };

/** The part of the context that a script uses. */
export type Asking = Pick<HandlerContext, "elicit" | "elicitUrl" | "sample" | "listRoots" | "step" | "task">;

/** Called by each step when its effect happens; awaited if it takes time. */
export type OnEffect = (key: string, hasFailed: boolean) => void | Promise<void>;

const FORM = z.object({ value: z.string() });
const RAW = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs a script; returns its outcome as text, including failures. */
export async function textOfScript(script: Script, ctx: Asking, onEffect: OnEffect): Promise<string> {
  try {
    return JSON.stringify({ told: await runScript(script, ctx, onEffect) });
  } catch (error) {
    return JSON.stringify({ threw: (error as Error).message });
  }
}

/** Runs a script; returns all answers and results in the order of the script. */
async function runScript(script: Script, ctx: Asking, onEffect: OnEffect): Promise<unknown> {
  switch (script.do) {
    case "ask":
      return ask(script, ctx);
    case "step":
      return ctx.step(`step ${script.id}`, async ({ key }) => {
        if (script.ms > 0) await pause(script.ms);
        const done = onEffect(key, script.gives === "failure");
        if (done) await done;
        if (script.gives === "failure") throw new Error(`step ${script.id} failed`);
        return script.gives === "value" ? { of: key.slice(key.indexOf("/")) } : undefined;
      });
    case "wait":
      for (let turn = 0; turn < script.turns; turn += 1) await undefined;
      if (script.ms > 0) await pause(script.ms);
      return "waited";
    case "throw":
      throw new Error("thrown");
    case "task":
      return ctx.task();
    case "sequence": {
      const told: unknown[] = [];
      for (const part of script.parts) told.push(await runScript(part, ctx, onEffect));
      return told;
    }
    case "all": {
      // All parts run to their end: what continues after a failed Promise.all depends on timing.
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
        .elicitUrl(message, "https://go.example/", options)
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

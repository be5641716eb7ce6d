/** Generates handlers of manageable size. */
import * as fc from "fast-check";
import type { Kind, Script } from "./replay-script.ts";

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

/** Scripts with up to 14 questions. */
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

/** Scripts that become a task at one point, with anything before and after. */
export const scriptsIntoTask: fc.Arbitrary<Script> = fc
  .tuple(scripts, scripts)
  .map(([before, after]) => withIds({ do: "sequence", parts: [before, { do: "task" }, after] }, { next: 0 }));

/** Gives each node that asks or runs a step an id, because equal concurrent ones could not be distinguished. */
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

/** The maximum number of questions. */
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

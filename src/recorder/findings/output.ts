/**
 * Finds results that do not match the output schema of their tool.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import type { Examined } from "./examined.ts";

/** Finds a result that does not match the output schema of its tool. The result was checked when it arrived. */
export function findOutputMisfit({ entry }: Examined): Finding[] {
  const { outputProblem } = entry;
  if (outputProblem === undefined) return [];
  return [
    {
      what: "The result does not match the output schema of the tool",
      where: `structuredContent${outputProblem}`,
      why: "Clients reject such a result. Change the handler or the schema.",
    },
  ];
}

/**
 * Results that do not fit the schema that the server has declared for them.
 *
 * @module
 */
import type { Finding } from "../entry.ts";
import type { Examined } from "./examined.ts";

/** Finds a result that does not fit the output schema of its tool. The result was checked when it arrived. */
export function findOutputMisfit({ entry }: Examined): Finding[] {
  const { outputProblem } = entry;
  if (outputProblem === undefined) return [];
  return [
    {
      what: "The result does not fit the output schema of the tool",
      where: `structuredContent${outputProblem}`,
      why: "Clients refuse such a result. Change the handler or the schema.",
    },
  ];
}

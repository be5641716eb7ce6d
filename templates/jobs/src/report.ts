/** The result of a job. */
import * as z from "zod";

export const reportSchema = z.object({
  job: z.string(),
  site: z.string(),
  checked: z.number().int(),
  /** How many pages were found but not checked. */
  unchecked: z.number().int(),
  problems: z.array(z.object({ url: z.string(), problem: z.string(), linkedFrom: z.string().optional() })),
});
export type Report = z.infer<typeof reportSchema>;

/** One tool whose schema needs no schema library: the size is the size of the kit, including Hono, and nothing else. */
import type { AnySchema } from "../../src/core/index.ts";

const json = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

export const nameSchema: AnySchema<{ name: string }> = {
  schema: {
    "~standard": { version: 1, vendor: "size", validate: (value) => ({ value: value as { name: string } }) },
  },
  jsonSchema: json,
};

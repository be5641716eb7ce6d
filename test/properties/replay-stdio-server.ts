/**
 * A server over stdio whose tool runs a script. The effects of its steps are written to file descriptor 3, one per
 * line.
 */
import { writeSync } from "node:fs";
import { McpServer } from "../../src/core/index.ts";
import { serveStdio } from "../../src/node/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { LIMITS } from "./replay-drive.ts";
import { type Script, textOfScript } from "./replay-script.ts";

/** The effect of a step. */
export interface Told {
  readonly case: string;
  /** The id of the request that ran it. */
  readonly request: string | number;
  readonly key: string;
  readonly hasFailed: boolean;
}

const input = jsonSchema<{ script: Script; case: string }>({
  type: "object",
  properties: { script: { type: "object" }, case: { type: "string" } },
  required: ["script", "case"],
});

const server = new McpServer({ name: "replayed", version: "1.0.0" }).tool("run", { input }, (args, ctx) =>
  textOfScript(args.script, ctx, (key, hasFailed) => {
    const told: Told = { case: args.case, request: ctx.requestId, key, hasFailed };
    // Written before the response is sent.
    writeSync(3, `${JSON.stringify(told)}\n`);
  }),
);
await serveStdio(server, { limits: LIMITS });

/** A server over stdio whose tool does what a script says. What its steps do is told on file descriptor 3, a line each. */
import { writeSync } from "node:fs";
import { McpServer } from "../../src/core/index.ts";
import { serveStdio } from "../../src/node/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { LIMITS } from "./replay-drive.ts";
import { type Script, textOfScript } from "./replay-script.ts";

/** What a step did. */
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
    // Before the answer goes out.
    writeSync(3, `${JSON.stringify(told)}\n`);
  }),
);
await serveStdio(server, { limits: LIMITS });

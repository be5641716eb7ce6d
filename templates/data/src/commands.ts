/** The commands that the server can run on a desktop. They do not exist in the Worker. */
import { existsSync } from "node:fs";
import type { McpServer } from "mcp-edge";
import { allowCommands } from "mcp-edge/node";
import { cleanText } from "mcp-edge/safe";
import * as z from "zod";
import type { DataEnv } from "./env.ts";

/** Matches the name of a file in the folder. It cannot contain a slash, so it cannot lead to another folder. */
const FILE = /\w[\w .-]{0,200}/;

/**
 * Adds `execute_command`. Arguments are passed as a list, not through a shell, and everything that is not allowed here is refused.
 * Before you allow another program, make sure that none of its arguments can write files or run other programs.
 */
export function addCommands(server: McpServer<DataEnv>, folder: string): void {
  // These programs exist on Linux and macOS.
  if (!existsSync("/usr/bin/wc")) return;
  const run = allowCommands({
    wc: { file: "/usr/bin/wc", options: [/-[clw]/], rest: FILE, cwd: folder },
    head: { file: "/usr/bin/head", options: [/-n\d{1,4}/], args: [FILE], cwd: folder },
    sort: { file: "/usr/bin/sort", options: [/-[bfnru]/, /-t[,;|]/, /-k\d{1,2}/], args: [FILE], cwd: folder },
  });
  server.tool(
    "execute_command",
    {
      title: "Run a command",
      description: "Run wc, head or sort on files in the data folder",
      input: z.object({
        command: z.enum(["wc", "head", "sort"]),
        args: z.array(z.string()).describe('Options, followed by file names, such as ["-l", "sales.csv"]'),
      }),
      output: z.object({
        exitCode: z.number().nullable().describe("0 if the command succeeded"),
        output: z.string(),
      }),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ command, args }, ctx) => {
      const { exitCode, stdout, stderr } = await run(command, args, { signal: ctx.signal });
      return { exitCode, output: cleanText(stdout || stderr) };
    },
  );
}

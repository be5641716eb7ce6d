/** The commands that the server runs on a desktop. At the edge there are none. */
import { existsSync } from "node:fs";
import type { McpServer } from "mcp-edge";
import { allowCommands } from "mcp-edge/node";
import { cleanText } from "mcp-edge/safe";
import * as z from "zod";
import type { DataEnv } from "./env.ts";

/** The name of a file in the folder. It has no slash, so it leads to no other folder. */
const FILE = /\w[\w .-]{0,200}/;

/**
 * Adds `execute_command`. A command gets its arguments as a list, and no shell sees them. What the list does not allow is
 * refused. Before you allow another program, make sure that none of its arguments writes files or runs other programs.
 */
export function addCommands(server: McpServer<DataEnv>, folder: string): void {
  // These programs are part of Linux and macOS.
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
      description: "Run wc, head or sort on files of the data folder",
      input: z.object({
        command: z.enum(["wc", "head", "sort"]),
        args: z.array(z.string()).describe('Options first, then names of files, such as ["-l", "sales.csv"]'),
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

/** A tool that takes a file and returns one. */
import type { McpServer } from "mcp-edge";
import { type FileStore, file, withFiles } from "mcp-edge/files";
import * as z from "zod";

export function addSortReport<E>(server: McpServer<E>, store: FileStore): void {
  server.tool(
    "sort_report",
    {
      description: "Sorts the rows of a report. The first line, with the names of the columns, stays first",
      input: withFiles(z.object({ descending: z.boolean().default(false) }), {
        report: file({ types: ["text/csv"], bytesMax: 10_000_000, description: "The report" }),
      }),
      annotations: { destructiveHint: false, openWorldHint: false },
    },
    async ({ report, descending }, ctx) => {
      const opened = await store.open(report, ctx);
      const [header = "", ...rows] = (await opened.text()).trimEnd().split(/\r?\n/);
      rows.sort();
      if (descending) rows.reverse();
      const body = `${[header, ...rows].join("\n")}\n`;
      return store.create({ name: `sorted ${opened.name}`, type: "text/csv", body }, ctx);
    },
  );
}

/** A tool with a view (MCP Apps). Hosts that support views show view/view.html with the result; others show the text. */
import type { McpServer } from "mcp-edge";
import * as z from "zod";
import { VIEW_HTML } from "./view-html.ts";

const VIEW = "ui://dice/view.html";

export function addAppView<E>(server: McpServer<E>): void {
  server.tool(
    "roll_dice",
    {
      description: "Rolls a die",
      input: z.object({ sides: z.number().int().min(2).max(1000).default(6) }),
      output: z.object({ sides: z.number(), roll: z.number() }),
      annotations: { readOnlyHint: true, openWorldHint: false },
      // The second name is for hosts from before 2026-01-26.
      _meta: { ui: { resourceUri: VIEW }, "ui/resourceUri": VIEW },
    },
    ({ sides }) => ({ sides, roll: 1 + Math.floor(Math.random() * sides) }),
  );
  server.resource(
    VIEW,
    { name: "dice", mimeType: "text/html;profile=mcp-app", _meta: { ui: { prefersBorder: true } } },
    () => ({ text: VIEW_HTML, _meta: { ui: { prefersBorder: true } } }),
  );
}

/**
 * The reference server's tools that send notifications while they run.
 *
 * @module
 */
import type { McpServer } from "../core/index.ts";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export function addNotifications(server: McpServer): void {
  server.tool("test_tool_with_progress", { description: "Reports progress 0, 50 and 100 of 100" }, async (_, ctx) => {
    for (const value of [0, 50, 100]) {
      ctx.progress(value, { total: 100, message: `${value} of 100` });
      await pause(50);
    }
    return "Progress reported.";
  });
  server.tool("test_tool_with_logging", { description: "Logs three times while it works" }, async (_, ctx) => {
    for (const step of ["started", "processing", "completed"]) {
      ctx.log("info", `Tool execution ${step}`, "reference");
      await pause(50);
    }
    return "Logged.";
  });
  server.tool(
    "test_reconnection",
    { description: "Closes the connection while it works; the client reconnects for the result" },
    async (_, ctx) => {
      ctx.disconnect(200);
      await pause(100);
      return "The connection was ended and resumed.";
    },
  );
  for (const kind of ["tool", "prompt"] as const) {
    server.tool(
      `test_trigger_${kind}_change`,
      { description: `Notifies clients that the list of ${kind}s has changed` },
      () => {
        if (kind === "tool") server.toolsChanged();
        else server.promptsChanged();
        return "Notified.";
      },
    );
  }
  server.tool(
    "test_trigger_resource_update",
    { description: "Notifies subscribers that the watched resource has changed" },
    (_, ctx) => {
      server.resourceUpdated("test://watched-resource");
      return `Notified, in request ${ctx.requestId}.`;
    },
  );
  server.tool("test_logging_tool", { description: "Logs once, for clients that request logs" }, (_, ctx) => {
    ctx.log("info", "A message for clients that requested logs");
    return "Logged, if requested.";
  });
}

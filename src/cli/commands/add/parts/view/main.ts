/** The view of roll_dice: shows the result, and has a button that calls the tool again through the host. */
import { applyTheme, connectHost, type ToolResult } from "./bridge.ts";

const result = document.getElementById("result") as HTMLElement;
const again = document.getElementById("again") as HTMLButtonElement;
let sides = 6;

function show({ content = [], structuredContent = {} }: ToolResult): void {
  const data = structuredContent as { sides?: number; roll?: number };
  sides = data.sides ?? sides;
  result.textContent = String(data.roll ?? content.map(({ text = "" }) => text).join("\n"));
}

connectHost({ name: "dice", version: "1.0.0" }, { onContext: applyTheme, onToolResult: show }).then(
  (host) => {
    again.disabled = !host.capabilities.serverTools;
    again.addEventListener("click", () => {
      host.callTool("roll_dice", { sides }).then(show, (error: Error) => {
        result.textContent = error.message;
      });
    });
  },
  () => {
    result.textContent = "This page works only in a host that supports MCP Apps.";
  },
);

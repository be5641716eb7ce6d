/**
 * An example with a view (MCP Apps).
 *
 * @module
 */
import type { McpServer } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const VIEW = "ui://tour/dice.html";

/** Adds a tool with a view, which calls the tool again. */
export function addView(server: McpServer): void {
  const faces = { type: "array", items: { type: "integer" } } as const;
  server.tool(
    "roll_dice",
    {
      title: "A view",
      description:
        "The result has its own page, which hosts show in the conversation. The page can call the tool again.",
      input: jsonSchema<{ dice: number }>({
        type: "object",
        properties: { dice: { type: "integer", minimum: 1, maximum: 6, default: 2 } },
        required: ["dice"],
      }),
      output: jsonSchema<{ faces: number[] }>({ type: "object", properties: { faces }, required: ["faces"] }),
      annotations: { readOnlyHint: true, openWorldHint: false },
      _meta: { ui: { resourceUri: VIEW } },
    },
    ({ dice }) => ({ faces: Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)) }),
  );
  server.resource(
    VIEW,
    { name: "dice", mimeType: "text/html;profile=mcp-app", _meta: { "mcp-edge/group": "Views" } },
    () => PAGE,
  );
}

/** The page: everything is in it, because a view may load nothing from elsewhere. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Dice</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.4 system-ui, sans-serif }
body { margin: 0; padding: 1rem; display: flex; gap: 1rem; align-items: center }
#faces { font-size: 3rem; line-height: 1 }
button { font: inherit; padding: .4rem 1rem }
</style>
<output id="faces" aria-live="polite">…</output>
<button id="again">Roll again</button>
<script type="module">
const host = window.parent;
const pending = new Map();
let dice = 2, lastId = 0;
const send = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
const request = (method, params) => new Promise((resolve, reject) => {
  pending.set(++lastId, { resolve, reject });
  send({ id: lastId, method, params });
});
const show = (result) => {
  const faces = result.structuredContent?.faces ?? [];
  document.getElementById("faces").textContent = faces.map((face) => String.fromCharCode(0x267f + face)).join(" ");
  document.getElementById("faces").setAttribute("aria-label", faces.join(", "));
  request("ui/update-model-context", { structuredContent: { faces } }).catch(() => {});
};
addEventListener("message", ({ source, data }) => {
  if (source !== host || data?.jsonrpc !== "2.0") return;
  if (data.method === "ui/notifications/tool-input") dice = data.params.arguments?.dice ?? dice;
  else if (data.method === "ui/notifications/tool-result") show(data.params);
  else if (data.method === "ui/resource-teardown") send({ id: data.id, result: {} });
  else if (data.error) pending.get(data.id)?.reject(new Error(data.error.message));
  else pending.get(data.id)?.resolve(data.result);
});
document.getElementById("again").onclick = async () => show(await request("tools/call", { name: "roll_dice", arguments: { dice } }));
await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "dice", version: "1.0.0" }, appCapabilities: {} });
send({ method: "ui/notifications/initialized", params: {} });
send({ method: "ui/notifications/size-changed", params: { height: document.body.offsetHeight } });
</script>
`;

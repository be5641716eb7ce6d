/**
 * The page of `mcp-edge dev`. It calls tools, prompts and resources of the server, and shows a trace of each call.
 *
 * @module
 */
import { effect } from "@preact/signals";
import { render } from "preact";
import { getInfo } from "./api/recorder-api.ts";
import { noteUpdate } from "./panels/resource.tsx";
import { Shell } from "./parts/shell.tsx";
import { listenToKeys } from "./parts/shortcuts.tsx";
import { readAll, readPrompts, readResources, readTools } from "./state/catalog.ts";
import { info, listen, pauseWithPage, reconnect, status } from "./state/connection.ts";
import { serverName } from "./state/server-name.ts";
import { follow } from "./state/timeline.ts";

render(<Shell />, document.body);
listenToKeys();
listen({
  onTools: () => void readTools(),
  onPrompts: () => void readPrompts(),
  onResources: () => void readResources(),
  onUpdate: noteUpdate,
});
effect(() => {
  if (status.value.is === "connected") void readAll();
});
effect(() => {
  document.title = `${serverName()} – mcp-edge dev`;
});
follow();
pauseWithPage();
info.value = await getInfo().catch(() => undefined);
await reconnect();

// @module-tag long
/** A client and a server in two processes, each with OpenTelemetry's SDK. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { clientTelemetry } from "../../src/telemetry/index.ts";
import { NODE } from "../oracle/node.ts";
import { openTelemetry, type Recorded, takeSpans } from "./recorded.ts";

const ERAS = [["2025-11-25"], ["2026-07-28"]] as const;
const ME = { name: "probe", version: "2.0.0", onEvent: () => undefined };

test.each(ERAS)("the spans of a client and a server of %s on stdio are in one trace", async (version) => {
  const transport = stdio({ command: NODE, args: [join(import.meta.dirname, "fixtures/stdio.ts")] });
  const client = await connect(transport, {
    ...ME,
    protocolVersions: [version],
    probeTimeoutMs: 60_000,
    use: [clientTelemetry({ openTelemetry })],
    onElicit: () => ({ action: "decline" }),
  });
  takeSpans();
  await client.callTool("echo", { text: "a" });
  await client.callTool("ask", {});
  const controller = new AbortController();
  const onProgress = () => controller.abort();
  await client.callTool("wait", {}, { signal: controller.signal, onProgress }).catch(() => undefined);
  const { content } = await client.callTool("spans");
  await client.close();
  const remote = JSON.parse((content[0] as { text: string }).text) as Recorded[];
  const own = takeSpans();
  const sent = own.find(({ name }) => name === "tools/call echo");
  expect(sent).toMatchObject({ kind: "client", attributes: { "network.transport": "pipe" } });
  expect(remote.find(({ name }) => name === "tools/call echo")).toMatchObject({
    kind: "server",
    traceId: sent?.traceId,
    parentId: sent?.spanId,
    attributes: {
      "network.transport": "pipe",
      "mcp.protocol.version": version,
      "mcp.client.name": "probe",
      "mcp.client.version": "2.0.0",
    },
  });
  expect(remote.find(({ name }) => name === "tools/call wait")).toMatchObject({
    isError: true,
    attributes: { "error.type": "cancelled" },
  });
  expect(own).toContainEqual(expect.objectContaining({ name: "elicitation/create", kind: "server" }));
});

/** Tests the server on real workerd. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { type Client, connect } from "mcp-edge/client";
import { stdio } from "mcp-edge/node";
import { startWorker, type TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const VIEW = "ui://plotter/view.html";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ wrangler: "wrangler.toml" });
});
afterAll(() => worker?.stop());

const open = (version = MODERN, onEvent: (event: { type: string }) => void = () => {}) =>
  connect(worker.url("/mcp"), { name: "test", version: "1.0.0", protocolVersions: [version], onEvent });

async function readText(client: Client, tool: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool(tool, args);
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

test.each([MODERN, LEGACY])("the tool names its view, and the view is a page for hosts (%s)", async (version) => {
  const client = await open(version);
  const tools = await client.tools().all();
  const [plot, zeros] = ["plot", "find_zeros"].map((name) => tools.find((tool) => tool.name === name));
  expect(plot?._meta).toMatchObject({ ui: { resourceUri: VIEW } });
  expect(zeros?._meta).toMatchObject({ ui: { visibility: ["model", "app"] } });
  const { contents } = await client.readResource(VIEW);
  expect(contents).toMatchObject([{ uri: VIEW, mimeType: "text/html;profile=mcp-app", _meta: { ui: {} } }]);
  const { text: page } = contents[0] as { text: string };
  expect(page).toMatch(/^<!doctype html>/);
  // Hosts do not let a view load anything that is not in its page.
  expect(page).not.toMatch(/<script[^>]+src=|<link|@import|https?:/);
  await client.close();
});

test("plot returns text for the model, an image, and data for the view", async () => {
  const client = await open();
  const { content, structuredContent } = await client.callTool("plot", { formula: "x^2", xMin: -2, xMax: 2 });
  expect(structuredContent).toMatchObject({ formula: "x^2", region: { xMin: -2, xMax: 2 } });
  const [text, image] = content as [{ text: string }, { type: string; mimeType: string; data: string }];
  expect(text.text).toBe(
    "y = x^2 for x from -2 to 2\nx = -2: y = 4\nx = -1: y = 1\nx = 0: y = 0\nx = 1: y = 1\nx = 2: y = 4",
  );
  expect(image).toMatchObject({ type: "image", mimeType: "image/png" });
  const { width, height, colors } = decode(Buffer.from(image.data, "base64"));
  expect([width, height]).toEqual([640, 400]);
  // A parabola is near the top at the left and right ends, and near the bottom in the middle.
  const top = (x: number) => colors.findIndex((line) => line[x] === "0,95,184");
  expect(top(5)).toBeLessThan(60);
  expect(top(634)).toBeLessThan(60);
  expect(top(320)).toBeGreaterThan(340);
  await client.close();
});

/** Decodes the PNGs that this server creates: three bytes for each pixel, without filters. */
function decode(png: Buffer) {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const bytes = inflateSync(png.subarray(41, 41 + png.readUInt32BE(33)));
  const at = (x: number, y: number) => y * (width * 3 + 1) + 1 + x * 3;
  const colors = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => bytes.subarray(at(x, y), at(x, y) + 3).join()),
  );
  return { width, height, colors };
}

test("an invalid formula or range returns an error that explains the mistake", async () => {
  const client = await open();
  expect(await readText(client, "plot", { formula: "2 * foo(x)" })).toContain('"foo" at 5 is unknown');
  expect(await readText(client, "plot", { formula: "x", xMin: 1, xMax: 1 })).toContain(
    "xMax must be greater than xMin",
  );
  expect(await readText(client, "plot", { formula: "x".repeat(201) })).toContain("200");
  await client.close();
});

test("find_zeros returns at most 100 zeros, and whether there may be more", async () => {
  const client = await open();
  const few = await client.callTool("find_zeros", { formula: "x^3 - x", xMin: -2, xMax: 2.001 });
  const { zeros } = few.structuredContent as { zeros: number[] };
  expect(zeros.map((zero) => Math.round(zero * 1e6) / 1e6 + 0)).toEqual([-1, 0, 1]);
  const many = await client.callTool("find_zeros", { formula: "sin(x)", xMin: 0, xMax: 1000 });
  expect(many.structuredContent).toMatchObject({ isComplete: false });
  expect((many.structuredContent as { zeros: number[] }).zeros).toHaveLength(100);
  await client.close();
});

test("a session continues after its object is evicted and the Worker crashes", async () => {
  const events: string[] = [];
  const client = await open(LEGACY, ({ type }) => events.push(type));
  await client.callTool("plot", { formula: "x" });
  expect(await worker.evict("McpObject")).toBeGreaterThan(0);
  await worker.restart();
  expect(await readText(client, "plot", { formula: "x" })).toContain("y = x for x from -10 to 10");
  expect(events).not.toContain("session-reopened");
  await client.close();
});

test("the same server runs over standard input and output", async () => {
  const folder = mkdtempSync(join(tmpdir(), "plots-"));
  const process_ = stdio({ command: process.execPath, args: ["src/stdio.ts"], env: { PLOTS_FOLDER: folder } });
  const client = await connect(process_, { name: "test", version: "1.0.0", protocolVersions: [LEGACY] });
  expect(await readText(client, "plot", { formula: "2x" })).toContain("x = 5: y = 10");
  expect((await client.readResource(VIEW)).contents).toHaveLength(1);
  await client.callTool("save_plot", { formula: "x" });
  expect([...readFileSync(join(folder, "plot.png")).subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  await client.close();
  rmSync(folder, { recursive: true });
});

test.each([MODERN, LEGACY])("save_plot returns a link to the image (%s)", async (version) => {
  const client = await open(version);
  const { content } = await client.callTool("save_plot", { formula: "sin(x)" });
  expect(content).toMatchObject([{ type: "resource_link", name: "plot.png", mimeType: "image/png" }]);
  const [link] = content as unknown as { uri: string; size: number }[];
  const response = await fetch(link?.uri ?? "");
  expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
  expect((await response.arrayBuffer()).byteLength).toBe(link?.size);
  await client.close();
});

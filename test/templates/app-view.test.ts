// @module-tag long
/**
 * The view of the template `app` in Chromium, inside a minimal host made of the official host code (`AppBridge`), with the
 * server on workerd. The host code checks every message of the view against the schemas of MCP Apps.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Chromium } from "../harness/chromium.ts";

const TEMPLATE = join(import.meta.dirname, "../../templates/app");
const BRIDGE_BYTES_MAX = 5 * 1024;

const VIEW = join(TEMPLATE, "src/view-html.ts");
/** The page as it is in the repository. */
const committed = readFileSync(VIEW, "utf8");

let worker: TestWorker;
let page: Server;
let browser: Chromium;

beforeAll(async () => {
  await import(join(TEMPLATE, "view/build.ts"));
  worker = await startWorker({ wrangler: "wrangler.toml", root: TEMPLATE });
  const { outputFiles } = await build({
    entryPoints: ["test/templates/host/page.ts"],
    bundle: true,
    write: false,
    format: "esm",
    conditions: ["browser"],
  });
  // The page and the server have the same origin for the browser.
  page = createServer(async (request, response) => {
    if (request.url === "/host.js") {
      response.writeHead(200, { "content-type": "text/javascript" }).end(outputFiles[0]?.text);
    } else if (request.url === "/mcp" && request.method === "GET") {
      // A server need not offer a stream for its own messages, and this host has no use for one.
      response.writeHead(405).end();
    } else if (request.url === "/mcp") {
      const body = (await request.toArray()).join("");
      const { host: _, origin: __, connection: ___, ...headers } = request.headers as Record<string, string>;
      const method = request.method ?? "GET";
      const answer = await fetch(worker.url("/mcp"), { method, headers, ...(body !== "" && { body }) });
      const kept = [...answer.headers].filter(([name]) => name.startsWith("mcp-") || name === "content-type");
      response.writeHead(answer.status, Object.fromEntries(kept)).end(await answer.text());
    } else {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(
        '<!doctype html><title>Host</title><body style="margin: 0"><script type="module" src="/host.js"></script>',
      );
    }
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  browser = await Chromium.start("--site-per-process", "--enable-features=IsolateSandboxedIframes");
  await browser.open("about:blank");
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  page?.closeAllConnections();
  page?.close();
  await worker?.stop();
});

const DEADLINE = { timeout: 20_000 };

/** Each test has its own conversation, in which x^2 is shown from -2 to 2. */
beforeEach(async () => {
  await browser.goTo(`http://127.0.0.1:${(page.address() as AddressInfo).port}/`);
  await browser.waitFor('typeof show === "function"');
  browser.errors.length = 0;
  await browser.run('show({ formula: "x^2", xMin: -2, xMax: 2 }, { theme: "light" })');
  await expect
    .poll(shown, DEADLINE)
    .toMatchObject({ formula: "x^2", region: [-2, 2, expect.any(Number), expect.any(Number)] });
}, 60_000);

interface Shown {
  readonly formula: string;
  readonly region: readonly number[];
}

/** Reads the description of the graph, which is what users of screen readers learn. */
async function shown(): Promise<Shown> {
  const label = await inView("document.getElementById('graph').getAttribute('aria-label')");
  const number = "(-?[\\d.e+-]+)";
  const pattern = `Graph of y = (.*): x from ${number} to ${number}, y from ${number} to ${number}$`;
  const [, formula = "", ...region] = new RegExp(pattern).exec(String(label)) ?? [];
  return { formula, region: region.map(Number) };
}

const inView = (expression: string) => browser.runInFrame(expression).catch((error: Error) => error.message);
const inHost = (expression: string) => browser.run(expression);
const statusText = () => inView("document.getElementById('status').textContent");
const contexts = () => inHost("seen.contexts") as Promise<string[]>;

/** Where the graph is; the frame is at the top left of the page. */
const box = () =>
  inView("document.getElementById('graph').getBoundingClientRect().toJSON()") as Promise<{
    left: number;
    top: number;
    width: number;
    height: number;
  }>;

async function mouse(type: string, x: number, y: number, more: object = {}): Promise<void> {
  await browser.input("dispatchMouseEvent", { type, x, y, button: "left", ...more });
}

async function press(key: string, code = key): Promise<void> {
  const windowsVirtualKeyCode = { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Tab: 9 }[key] ?? 0;
  const text = key.length === 1 ? { text: key } : {};
  const type = key.length === 1 ? "keyDown" : "rawKeyDown";
  await browser.input("dispatchKeyEvent", { type, key, code, windowsVirtualKeyCode, ...text });
  await browser.input("dispatchKeyEvent", { type: "keyUp", key, code, windowsVirtualKeyCode });
}

/** Clicks into the field, and types in place of what it has. */
async function type(text: string): Promise<void> {
  await inView("document.getElementById('formula').select()");
  const at = (await inView("document.getElementById('formula').getBoundingClientRect().toJSON()")) as {
    left: number;
    top: number;
  };
  await mouse("mousePressed", at.left + 20, at.top + 10, { clickCount: 3 });
  await mouse("mouseReleased", at.left + 20, at.top + 10, { clickCount: 3 });
  for (const character of text) await browser.input("dispatchKeyEvent", { type: "char", text: character });
}

test("the official host code accepts every message, and the view gets the call and reports its size", async () => {
  expect(await inHost("app()")).toEqual({ name: "function-plotter", version: "1.0.0" });
  const methods = (await inHost("seen.methods")) as string[];
  expect(methods.slice(0, 2)).toEqual(["ui/initialize", "ui/notifications/initialized"]);
  await expect.poll(() => inHost("seen.heights.at(-1)"), DEADLINE).toBeGreaterThan(380);
  expect(await inHost("ping()")).toEqual({});
  expect(await inHost("unknown()")).toContain("This view has no method ui/unknown.");
  expect(await inHost("teardown()")).toEqual({});
  expect(await inHost("seen.errors")).toEqual([]);
});

test("dragging moves the graph with the pointer, and the model is notified", async () => {
  const { left, top, width, height } = await box();
  const before = await shown();
  const [x, y] = [left + width / 2, top + height / 2];
  await mouse("mousePressed", x, y, { clickCount: 1, buttons: 1 });
  await mouse("mouseMoved", x + width / 8, y, { buttons: 1 });
  await mouse("mouseMoved", x + width / 4, y, { buttons: 1 });
  await mouse("mouseReleased", x + width / 4, y, { clickCount: 1 });
  await expect.poll(async () => Math.round((await shown()).region[0] ?? 0), DEADLINE).toBe(-3);
  const { region } = await shown();
  expect(region[1]).toBeCloseTo(1, 1);
  expect(region.slice(2)).toEqual(before.region.slice(2));
  await expect.poll(async () => (await contexts()).at(-1), DEADLINE).toContain("Graph of y = x^2: x from -3");
  // Without the button, the pointer moves nothing.
  await mouse("mouseMoved", x, y, { buttons: 0 });
  expect(await shown()).toMatchObject({ region });
});

test("the wheel zooms around the pointer", async () => {
  const { left, top, width, height } = await box();
  const [x, y] = [left + 2, top + height / 2];
  await browser.input("dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY: -200 });
  await expect.poll(async () => (await shown()).region[1], DEADLINE).toBeLessThan(1);
  const { region } = await shown();
  // The left end is under the pointer, so it stays.
  expect(region[0]).toBeCloseTo(-2, 1);
  expect(width).toBeGreaterThan(0);
});

test("two fingers zoom", async () => {
  const { left, top, width, height } = await box();
  const [x, y] = [left + width / 2, top + height / 2];
  const points = (apart: number) => [
    { x: x - apart, y, id: 1 },
    { x: x + apart, y, id: 2 },
  ];
  await browser.input("dispatchTouchEvent", { type: "touchStart", touchPoints: points(50) });
  await browser.input("dispatchTouchEvent", { type: "touchMove", touchPoints: points(75) });
  await browser.input("dispatchTouchEvent", { type: "touchMove", touchPoints: points(100) });
  await browser.input("dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await expect.poll(async () => (await shown()).region[1], DEADLINE).toBeCloseTo(1, 1);
  expect((await shown()).region[0]).toBeCloseTo(-1, 1);
});

test("a keyboard is enough: Tab reaches every control, arrows move, + and - zoom, 0 resets", async () => {
  const focused = () => inView("document.activeElement.id");
  await inView("document.getElementById('formula').focus()");
  const order: unknown[] = [];
  for (let tabs = 0; tabs < 6; tabs += 1) {
    await press("Tab");
    order.push(await focused());
  }
  expect(order).toEqual(["", "in", "out", "reset", "zeros", "graph"]);
  expect(await inView("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
  const { region: home } = await shown();
  const steps: [string, readonly number[]][] = [
    ["ArrowRight", [-1.6, 2.4]],
    ["ArrowLeft", [-2, 2]],
    ["+", [-1.6, 1.6]],
    ["-", [-2, 2]],
  ];
  for (const [key, expected] of steps) {
    await press(key);
    await expect.poll(async () => (await shown()).region.slice(0, 2), DEADLINE).toEqual(expected);
  }
  await press("ArrowUp");
  await expect.poll(async () => (await shown()).region, DEADLINE).not.toEqual(home);
  await press("0");
  await expect.poll(async () => (await shown()).region, DEADLINE).toEqual(home);
});

test("a formula is drawn while it is typed, and a mistake is explained", async () => {
  await type("2x + 1");
  await expect.poll(shown, DEADLINE).toMatchObject({ formula: "2x + 1" });
  await expect.poll(async () => (await contexts()).at(-1), DEADLINE).toContain("Graph of y = 2x + 1:");
  await type("2x + foo");
  await expect.poll(statusText, DEADLINE).toContain('"foo" at 6 is unknown');
  expect(await inView("document.getElementById('formula').getAttribute('aria-invalid')")).toBe("true");
  // The last formula without a mistake is still shown.
  expect(await shown()).toMatchObject({ formula: "2x" });
});

test("a button calls a tool of the server through the host, and the result is shown", async () => {
  await type("x^2 - 1");
  await expect.poll(shown, DEADLINE).toMatchObject({ formula: "x^2 - 1" });
  await inView("document.getElementById('zeros').click()");
  await expect.poll(statusText, DEADLINE).toBe("Zeros: -1, 1");
  expect(await inHost("seen.methods")).toContain("tools/call");
  expect(await inHost("seen.errors")).toEqual([]);
});

test("the colors follow the host, even when they change, and the curve is drawn in them", async () => {
  const colors = () =>
    inView("(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.documentElement))");
  /** Whether a pixel of the canvas has a color. */
  const hasColor = (color: readonly number[]) =>
    inView(`(() => {
      const canvas = document.getElementById("canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) if ([${color}].every((part, index) => data[at + index] === part)) return true;
      return false;
    })()`);
  expect(await colors()).toEqual(["rgb(27, 27, 27)", "rgb(255, 255, 255)"]);
  expect(await hasColor([0, 95, 184])).toBe(true);
  await inHost('tell({ theme: "dark" })');
  await expect.poll(colors, DEADLINE).toEqual(["rgb(240, 240, 240)", "rgb(30, 30, 30)"]);
  expect(await hasColor([117, 190, 255])).toBe(true);
  expect(await hasColor([0, 95, 184])).toBe(false);
  await inHost('tell({ theme: "dark", styles: { variables: { "--color-background-primary": "rgb(1, 2, 3)" } } })');
  await expect.poll(colors, DEADLINE).toEqual(["rgb(240, 240, 240)", "rgb(1, 2, 3)"]);
});

test("a failed and a cancelled call are explained, and only messages of the host are accepted", async () => {
  await inHost('fail("xMax must be greater than xMin")');
  await expect.poll(statusText, DEADLINE).toBe("xMax must be greater than xMin");
  await inView(`(() => {
    window.said = [];
    const status = document.getElementById("status");
    const note = () => window.said.push(status.textContent);
    new MutationObserver(note).observe(status, { childList: true, characterData: true, subtree: true });
  })()`);
  await inHost("pretend()");
  // Messages arrive in order, so the host's message comes after the other frame's.
  await inHost('cancel("by the user")');
  await expect.poll(statusText, DEADLINE).toBe("The call was cancelled: by the user");
  expect(await inView("window.said")).toEqual(["The call was cancelled: by the user"]);
});

test("the page follows the content security policy that hosts apply, and loads nothing", async () => {
  const violations = () => browser.errors.filter((text) => text.includes("Content Security Policy"));
  expect(violations()).toEqual([]);
  expect(await inView("performance.getEntriesByType('resource').length")).toBe(0);
  // The policy is in force, and a violation would have been seen. Chromium may report one twice.
  await inView("fetch('https://elsewhere.example/').catch(() => 0)");
  await expect.poll(violations, DEADLINE).not.toEqual([]);
});

describe("the bundle of the view", () => {
  test("has a bridge of at most 5 KiB, minified", async () => {
    const { outputFiles } = await build({
      stdin: { contents: 'export { applyTheme, connectHost } from "./view/bridge.ts";', resolveDir: TEMPLATE },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      target: "es2022",
    });
    const bytes = outputFiles[0]?.contents ?? new Uint8Array();
    expect(bytes.length).toBeGreaterThan(500);
    expect(bytes.length).toBeLessThanOrEqual(BRIDGE_BYTES_MAX);
  });

  test("is the same in the repository as the bundle that the folder view builds", () => {
    expect(committed, "Run: npm run view in templates/app").toBe(readFileSync(VIEW, "utf8"));
  });
});

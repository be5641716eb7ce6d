/**
 * Takes the pictures of the documents, docs/images, in light and dark mode, in Chromium: `npm run pictures`, or with the names of some:
 * `npm run pictures -- consent`. Look at each picture before you commit it.
 */
import { writeFileSync } from "node:fs";
import { signInPages } from "../src/authorization-server/pages/index.ts";
import { connect } from "../src/client/index.ts";
import type { JsonObject } from "../src/core/protocol/jsonrpc.ts";
import { startWorker } from "../src/testing/index.ts";
import { Screen } from "../test/cli/pty.ts";
import { Chromium } from "../test/harness/chromium.ts";
import { PageDriver } from "../test/page-app/page-driver.ts";
import { Project } from "../test/recorder/dev-project.ts";
import { PageServer } from "../test/worker/oauth/page-server.ts";
import { buildPageApp } from "./page-app.ts";
import { withPalette } from "./pictures/png.ts";
import { type Run, terminalPage } from "./pictures/terminal.ts";
import { ROOT } from "./tools.ts";

/** The maximum size of a picture, in bytes. */
const BYTES_MAX = 150_000;

const BRANDED_SERVER = "test/worker/fixtures/product-page.ts";
const LOGO =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 48 48'><rect width='48' height='48' rx='12' fill='%230f766e'/><path d='M12 32l8-16 6 11 4-6 6 11z' fill='white'/></svg>";

/** The clients whose calls are shown in the list on the page of `mcp-edge dev`. */
const CALLERS: readonly (readonly [string, object, readonly (readonly [string, JsonObject])[]])[] = [
  [
    "my-agent",
    {},
    [
      ["ship_parcel", { kilograms: 42, to: { city: "Bern" } }],
      ["add", { a: 20, b: 22 }],
    ],
  ],
  [
    "desktop-host",
    { protocolVersions: ["2025-11-25"] },
    [
      ["pay_invoice", { invoice: "2026-0042", euros: 120 }],
      ["count_visitor", {}],
    ],
  ],
];

/** Takes a picture of the page in the browser, in light and in dark mode. */
async function take(browser: Chromium, name: string, width: number, height: number): Promise<void> {
  await browser.resize(width, height);
  for (const scheme of ["light", "dark"]) {
    await browser.setMedia({ "prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" });
    // The colours change one frame later.
    await browser.run("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))");
    const file = `${ROOT}docs/images/${name}${scheme === "dark" ? "-dark" : ""}.png`;
    const picture = withPalette(await browser.screenshot());
    const { length } = picture;
    if (length > BYTES_MAX) throw new Error(`${file} has ${length} bytes; at most ${BYTES_MAX} are allowed.`);
    writeFileSync(file, picture);
    console.log(`${file} (${length} bytes)`);
  }
}

async function withBrowser(url: string, act: (browser: Chromium) => Promise<void>): Promise<void> {
  await using browser = await Chromium.start();
  await browser.open(url);
  await act(browser);
}

/** The page of an endpoint. */
async function takePage(): Promise<void> {
  await using worker = await startWorker({ entry: BRANDED_SERVER });
  await withBrowser(worker.url("/mcp"), (browser) => take(browser, "page", 1280, 740));
}

/** The page of `mcp-edge dev` after a call, and the timeline of the call. */
async function takeDevPages(): Promise<void> {
  await buildPageApp(`${ROOT}dist/page-app`);
  using project = new Project(`export { default, McpObject } from "${ROOT}src/reference/index.ts";`);
  await using dev = await project.dev("--contents", "--faults");
  for (const [name, versions, calls] of CALLERS) {
    const client = await connect(dev.url(), { name, version: "2.1.0", ...versions });
    for (const [tool, args] of calls) await client.callTool(tool, args);
    await client.close();
  }
  await using page = await PageDriver.open(dev.url("/__mcp-edge/"));
  // A reload would interrupt a connection, which the list of calls would show as an error.
  await page.browser.waitFor("document.querySelector('.top .tag')?.dataset.state === 'good'");
  await page.open("#/tool/book_table", { version: "2025-11-25" });
  await page.press("Call", "form.schema button.main");
  await page.sees("for how many?", ".asked");
  await take(page.browser, "dev-page", 1400, 760);
  await page.press("Answer", ".asked button");
  await page.sees("A table for 2", ".call");
  // The first question was open while the pictures were taken, which the timeline of its call would show.
  await page.open("#/tool/book_table", { version: "2025-11-25" });
  await page.press("Call", "form.schema button.main");
  await page.press("Answer", ".asked button");
  await page.sees("A table for 2", ".call");
  await page.press("View trace", ".call a");
  await page.sees("serves a request", ".events");
  await take(page.browser, "recorded-call", 1400, 860);
}

/** The page on which a user allows a client. */
async function takeConsent(): Promise<void> {
  const pages = signInPages({ name: "Northwind Logistics", logo: LOGO, accent: "#0f766e" });
  await using server = await PageServer.start();
  server.answer = () =>
    pages.consent({
      client: { id: "https://claude.ai/oauth/client.json", name: "Claude" },
      redirectUri: "https://claude.ai/api/mcp/auth_callback",
      scopes: [
        { name: "shipments:read", description: "See your shipments and where they are" },
        { name: "pickups:write", description: "Book and cancel pickups" },
      ],
      user: "ada@northwind.example",
      action: "/consent",
      request: "r1",
      code: "c1",
    });
  await withBrowser(`${server.origin}/authorize`, (browser) => take(browser, "consent", 720, 800));
}

/** The command line, as a person sees it. */
async function takeCommandLine(): Promise<void> {
  await using worker = await startWorker({ entry: BRANDED_SERVER });
  const url = worker.url("/mcp");
  const list = new Screen(["list", url, "tools"]);
  await list.ended();
  using call = new Screen(["call", url, "cancel_pickup", "--pickup", "NW-10294"]);
  await call.shows("● No");
  const runs: readonly Run[] = [
    { typed: `npx mcp-edge list ${url} tools`, output: list.raw },
    { typed: `npx mcp-edge call ${url} cancel_pickup --pickup NW-10294`, output: call.raw },
  ];
  await using server = await PageServer.start();
  server.answer = () => new Response(terminalPage(runs), { headers: { "Content-Type": "text/html; charset=utf-8" } });
  await withBrowser(server.origin, (browser) => take(browser, "command-line", 1000, 580));
}

const PICTURES: Readonly<Record<string, () => Promise<void>>> = {
  page: takePage,
  dev: takeDevPages,
  consent: takeConsent,
  "command-line": takeCommandLine,
};

const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : Object.keys(PICTURES)) {
  const run = PICTURES[name];
  if (!run) throw new Error(`There is no picture ${name}. Choose from: ${Object.keys(PICTURES).join(", ")}`);
  await run();
}
// Some libraries leave timers and sockets behind.
process.exit(0);

/** The page that a browser shows at the endpoint. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";

const HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: "test/worker/fixtures/page.ts", objects: ["McpObject"] });
});
afterAll(() => worker.stop());

function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(worker.url(path), { method, headers: { Accept: HTML, ...headers } });
}

/** The status for headers that `fetch` does not let a program set. */
function statusOf(path: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(worker.url(path), { headers: { Accept: HTML, ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject).end();
  });
}

/** The page as text, for a host that the test chooses. */
function pageAt(host: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { headers: { Accept: "text/plain", ...headers, Host: host } };
    const sent = request(worker.url("/mcp"), options, async (response) => {
      resolve((await response.toArray()).join(""));
    });
    sent.on("error", reject).end();
  });
}

/** The arguments that a shell passes to a program for the line of the page that calls it. Patterns without a file are errors. */
function wordsOf(text: string, program: string): string[] {
  const line = text.split("\n").find((each) => each.startsWith(`  ${program} `)) ?? "";
  const script = `shopt -s failglob; ${program}() { printf '%s\\0' "$@"; }; ${line}`;
  return execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("the page at the endpoint", () => {
  test("shows the URL, the definitions, a line to paste for each client, and links for hosts that have them", async () => {
    const response = await get("/mcp");
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
    const text = await response.text();
    const url = worker.url("/mcp");
    expect(text).toContain(`<code>${url}</code>`);
    expect(text).toContain("Tools <small>2</small>");
    expect(text).toContain("<h3>one</h3>");
    expect(text).toContain(`claude mcp add --transport http page ${url}`);
    expect(text).toContain('<html lang="en" dir="auto">');
    const [, config = ""] = /"cursor:[^"]*install\?name=page&#38;config=([^"]*)"/.exec(text) ?? [];
    expect(JSON.parse(atob(decodeURIComponent(config)))).toEqual({ url });
    const [, server = ""] = /"vscode:mcp\/install\?([^"]*)"/.exec(text) ?? [];
    expect(JSON.parse(decodeURIComponent(server))).toEqual({ name: "page", type: "http", url });
  });

  test("escapes names, and its policy allows only its own style and script", async () => {
    const response = await get("/mcp");
    const text = await response.text();
    expect(text).not.toContain("<b>");
    expect(text).toContain("&#60;b&#62;&#34;Page&#34; &#38; more&#60;/b&#62;");
    const hashOf = (element: string) => {
      const [, content = ""] = new RegExp(`<${element}>(.*)</${element}>`, "s").exec(text) ?? [];
      return createHash("sha256").update(content).digest("base64");
    };
    const policy = response.headers.get("Content-Security-Policy");
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hashOf("style")}'; script-src 'sha256-${hashOf("script")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(text).not.toMatch(/<link|<img|\bsrc=|<a [^>]*\bon\w+=/);
    expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
  });

  test("returns only the headers for HEAD, and plain text for text/plain", async () => {
    const head = await get("/mcp", {}, "HEAD");
    expect([head.status, head.headers.get("Content-Type"), await head.text()]).toEqual([
      200,
      "text/html; charset=utf-8",
      "",
    ]);
    const plain = await get("/mcp", { Accept: "text/plain" });
    expect(await plain.text()).toMatch(new RegExp(`^<b>"Page" & more</b> 1\\.0\\.0\n${worker.url("/mcp")}\n`));
  });

  test("does not change the responses to MCP clients", async () => {
    const bare = async (accept: string, more = {}) => {
      const response = await get("/mcp", { Accept: accept, ...more });
      await response.body?.cancel();
      return response.status;
    };
    expect(await bare("text/event-stream")).toBe(400);
    expect(await bare("text/html, text/event-stream")).toBe(400);
    expect(await bare("*/*")).toBe(400);
    expect(await bare("application/json")).toBe(406);
    expect(await bare("text/html", { "X-App": "none" })).toBe(405);
    expect((await get("/mcp", {}, "POST")).status).toBe(415);
  });

  test("is not shown to callers that auth refuses; other callers see the numbers of definitions that they may use", async () => {
    const refused = await get("/mcp", { "X-App": "auth" });
    expect(refused.status).toBe(401);
    const { host } = new URL(worker.origin);
    const text = await refused.text();
    expect(text).toContain(`<h1>${host}</h1>`);
    expect(text).toContain("This MCP server is for signed-in users.");
    expect(text).not.toMatch(/\bpage\b|\bone\b/);
    const asText = await get("/mcp", { "X-App": "auth", Accept: "text/plain" });
    expect([asText.status, asText.headers.get("Content-Type")]).toEqual([401, "application/json"]);
    expect((await get("/", { "X-App": "auth" })).status).toBe(404);
    const shown = await get("/mcp", { "X-App": "auth", Authorization: "Bearer ok" });
    expect(await shown.text()).toContain("Tools <small>1</small>");
    expect((await get("/", { "X-App": "auth", Authorization: "Bearer ok" })).status).toBe(200);
  });

  test("refuses a foreign host, and can be opened by a link from another site", async () => {
    expect(await statusOf("/mcp", { Host: "rebound.example" })).toBe(403);
    expect(await statusOf("/", { Host: "rebound.example" })).toBe(404);
    const cross = { "Sec-Fetch-Site": "cross-site" };
    expect(await statusOf("/mcp", cross)).toBe(403);
    expect(await statusOf("/mcp", { ...cross, "Sec-Fetch-Mode": "navigate" })).toBe(200);
  });

  test("shows a curl command that works for a server with legacy versions only", async () => {
    const text = await (await get("/mcp", { "X-App": "legacy", Accept: "text/plain" })).text();
    expect(text).toContain("MCP 2024-11-05, 2025-11-25\n");
    expect(text).toContain('"method":"initialize"');
  });

  test("shows commands that are safe to paste, whatever the path and the name", async () => {
    const text = await (await get("/it's$(x)/mcp", { "X-App": "odd", Accept: "text/plain" })).text();
    expect(text).toContain(`claude mcp add --transport http a-b-c '${worker.url("/it%27s$(x)/mcp")}'`);
    expect((await get("/", { "X-App": "odd" })).status).toBe(404);
  });
});

test.each(["-p x", "[a]", "--scope", "[-]", "~root", "日本"])(
  "a shell reads the commands of a server named %s as they are written",
  async (name) => {
    const host = `[::1]:${new URL(worker.origin).port}`;
    const text = await pageAt(host, { "X-App": "named", "X-Name": encodeURIComponent(name) });
    const url = `http://${host}/mcp`;
    const claude = wordsOf(text, "claude");
    expect(claude.slice(0, 4)).toEqual(["mcp", "add", "--transport", "http"]);
    expect(claude[4]).toMatch(/^\w[\w-]*$/);
    expect(claude.slice(5)).toEqual([url]);
    expect(wordsOf(text, "curl")[0]).toBe(url);
    expect(wordsOf(text, "npx").at(-1)).toBe(url);
  },
);

describe("the page at /", () => {
  test("is shown if no other route matches, and names the endpoint", async () => {
    const response = await get("/");
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`<code>${worker.url("/mcp")}</code>`);
    expect((await get("/", { Accept: "application/json" })).status).toBe(404);
    expect((await get("/other")).status).toBe(404);
  });

  test("is not shown if auth refuses the caller at the path of the endpoint", async () => {
    expect((await get("/mcp", { "X-App": "ruled" })).status).toBe(401);
    expect((await get("/", { "X-App": "ruled" })).status).toBe(404);
  });

  test("is not shown if the author has a route for it, in a parent app, or with root: false", async () => {
    expect(await (await get("/", { "X-App": "own" })).text()).toBe("the user's own");
    expect((await get("/", { "X-App": "mounted" })).status).toBe(404);
    expect((await get("/mounted", { "X-App": "mounted" })).status).toBe(404);
    expect((await get("/mounted/mcp", { "X-App": "mounted" })).status).toBe(200);
    expect((await get("/", { "X-App": "noRoot" })).status).toBe(404);
    expect((await get("/mcp", { "X-App": "noRoot" })).status).toBe(200);
  });
});

/** The page on which a user chooses a file. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FilesLab, put } from "./support.ts";

let lab: FilesLab;
beforeAll(async () => {
  lab = await FilesLab.start();
});
afterAll(() => lab?.stop());

/** Requests the page of a link. */
async function open(url: string) {
  const response = await fetch(url);
  return {
    status: response.status,
    policy: response.headers.get("content-security-policy") ?? "",
    headers: response.headers,
    html: await response.text(),
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("base64");

test.each([
  ["the usual look", "/mcp"],
  ["the brand of the author", "/small"],
])("has a policy that admits only its own style and script, with %s", async (_, path) => {
  const { url } = await lab.link("ada", path);
  const { status, policy, headers, html } = await open(url);
  expect(status).toBe(200);
  const [style = ""] = [...html.matchAll(/<style>(.*?)<\/style>/gs)].map((match) => match[1] ?? "");
  const [script = ""] = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map((match) => match[1] ?? "");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`style-src 'sha256-${sha256(style)}'`);
  expect(policy).toContain(`script-src 'sha256-${sha256(script)}';`);
  expect(policy).toMatch(/frame-ancestors 'none'; connect-src 'self'$/);
  expect(policy).not.toMatch(/unsafe/);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(html).not.toMatch(/ on\w+=/);
});

test("names the server, what is asked for, and what is accepted; nothing of it is HTML of others", async () => {
  const { text } = await lab.call("lines", {}, "a.lovelace");
  const [url = ""] = /http\S+(?=')/.exec(text) ?? [];
  const { html } = await open(url);
  expect(html).toContain("Send a file to <bdi>Reports &#60;of&#62; all</bdi>");
  expect(html).toContain("<bdi>The sales report</bdi>");
  expect(html).toContain('accept="text/csv,.csv" data-max="1000000"');
  expect(html).toContain('<p class="soft">CSV, at most 1 MB</p>');
  expect(html).toContain("It is sent to <bdi>Reports &#60;of&#62; all</bdi> and to nobody else.");
  // Neither the user nor the id is in the page.
  expect(html).not.toMatch(/lovelace|file_/);
});

test("says that a link was used, or has ended, and has no script then", async () => {
  const { url } = await lab.link("eve");
  await put(url, "a.txt", "a");
  const used = await open(url);
  expect([used.status, used.html]).toEqual([410, expect.stringContaining("This link has been used.")]);
  expect(used.policy).not.toMatch(/script|connect/);
  expect((await open((await lab.link("eve")).url)).status).toBe(200);
});

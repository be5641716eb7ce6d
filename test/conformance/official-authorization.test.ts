// @module-tag long
/** The official suite's scenarios for authorization servers, against ours on workerd. The test is the person at the browser. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Check } from "../../scripts/official-suite.ts";
import { ROOT } from "../../scripts/tools.ts";
import { choosePort } from "../../src/node/free-port.ts";
import { NODE } from "../oracle/node.ts";
import { allow, Browser, register } from "../worker/authorization.ts";
import { setUp, url, worker } from "../worker/authorizing.ts";

setUp();

/** Resolves with the link that the suite prints for a person. */
function linkOf(suite: ChildProcessWithoutNullStreams): Promise<string> {
  let printed = "";
  return new Promise((resolve, reject) => {
    suite.stdout.on("data", (chunk) => {
      printed += chunk;
      const [link] = new RegExp(`${worker.origin}/authorize\\?\\S+(?=\\s)`).exec(printed) ?? [];
      if (link !== undefined) resolve(link);
    });
    suite.once("close", () => reject(new Error(`The suite printed no link: ${printed}`)));
  });
}

test("the official suite tests enterprise-managed authorization with clients only, so a new scenario for servers is noticed", () => {
  const listed = execFileSync(NODE, [`${ROOT}node_modules/.bin/conformance`, "list"], { encoding: "utf8" });
  const [clients = "", servers = ""] = listed.split("Authorization server scenarios");
  expect(clients).toContain("auth/enterprise-managed-authorization");
  expect(clients.match(/enterprise/g)).toHaveLength(1);
  expect(servers).toContain("authorization-code-grant");
  expect(servers).not.toMatch(/enterprise|id-jag/);
});

test("the official scenarios for authorization servers pass without warnings: metadata, and the grant of a code", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-conformance-"));
  try {
    const port = await choosePort();
    const callback = `http://127.0.0.1:${port}/callback`;
    const { client_id } = await register(worker.origin, { redirect_uris: [callback] });
    const options = [
      "--url",
      worker.origin,
      "--client-id",
      String(client_id),
      "--resource",
      url(),
      "--port",
      String(port),
    ];
    const suite = spawn(NODE, [`${ROOT}node_modules/.bin/conformance`, "authorization", ...options, "-o", folder]);
    const ended = once(suite, "close");
    const returned = await allow(new Browser(), await linkOf(suite), "ada");
    await fetch(`${callback}?${returned}`);
    await ended;
    const results = readdirSync(folder).map((entry) => {
      const checks = JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8")) as Check[];
      const name = entry.replace(/-\d{4}-\d\d-\d\dT.*$/, "").replace(/^authorization-server-/, "");
      return [name, checks.map(({ status, errorMessage }) => errorMessage ?? status)] as const;
    });
    const all = new Map(results);
    expect([...all.keys()].toSorted()).toEqual(["authorization-code-grant", "authorization-server-metadata-endpoint"]);
    for (const [name, outcomes] of all) {
      expect([name, [...new Set(outcomes)]]).toEqual([name, ["SUCCESS"]]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

/** Several servers from one configuration. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Host, type HostOptions, openHost } from "../../src/client/host/host.ts";
import { listServers, readServer } from "../../src/client/host/server-config.ts";
import { createToolName } from "../../src/client/host/tool-names.ts";
import { readMcpConfig, stdio } from "../../src/node/index.ts";
import { NODE } from "../oracle/node.ts";
import { Lab, ME } from "./places.ts";
import { discovered, result, type Scripted, scripted } from "./scripted.ts";

const SERVER = join(import.meta.dirname, "fixtures/stdio.ts");

let lab: Lab;
const hosts: Host[] = [];
const servers: Scripted[] = [];
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

async function open(mcpServers: Record<string, unknown>, options: Partial<HostOptions> = {}): Promise<Host> {
  const host = await openHost({ mcpServers }, { client: { ...ME, onEvent: () => undefined }, stdio, ...options });
  hosts.push(host);
  return host;
}

/** A server with these tools, which returns the name of the tool for each call. */
async function serve(tools: readonly string[], seen: (headers: Scripted["asked"] | object) => void = () => undefined) {
  const server = await scripted(({ headers, message }, response) => {
    const { id, method, params } = message ?? {};
    seen(headers);
    if (method === "server/discover") return result(response, id, discovered());
    const listed = tools.map((name) => ({ name, inputSchema: { type: "object" } }));
    const hints = { resultType: "complete", ttlMs: 0, cacheScope: "public" };
    if (method === "tools/list") return result(response, id, { ...hints, tools: listed });
    return result(response, id, { resultType: "complete", content: [{ type: "text", text: String(params?.name) }] });
  });
  servers.push(server);
  return server;
}

const namesOf = async (host: Host) => (await host.tools()).map(({ name }) => name);

describe("a host", () => {
  test("opens servers with a URL and with a command, and calls their tools by prefixed names", {
    tags: "long",
  }, async () => {
    const child = { command: NODE, args: [SERVER], env: { GREETING: "hello" } };
    const host = await open({ remote: { type: "http", url: lab.url() }, local: child });
    const names = await namesOf(host);
    expect(names).toEqual(expect.arrayContaining(["remote__add", "local__add", "local__environment"]));
    expect(new Set(names).size).toBe(names.length);
    expect(await host.callTool("remote__add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    const [content] = (await host.callTool("local__environment")).content as unknown as { text: string }[];
    expect(JSON.parse(content?.text ?? "")).toMatchObject({ env: { GREETING: "hello" } });
    await expect(host.callTool("remote__nothing")).rejects.toThrow('No server has a tool "remote__nothing"');
  });

  test("reports why a server cannot be opened, and keeps the other servers working", async () => {
    const failed: string[] = [];
    const host = await open(
      {
        absent: { url: "http://127.0.0.1:9/mcp" },
        broken: { command: NODE, args: ["-e", "process.exit(3)"] },
        missing: { command: "no-such-program" },
        unclear: { type: "http" },
        remote: { url: lab.url() },
      },
      { onFailure: (server) => failed.push(server) },
    );
    expect([...host.clients.keys()]).toEqual(["remote"]);
    expect(failed.sort()).toEqual(["absent", "broken", "missing", "unclear"]);
    expect(host.failures.get("absent")).toMatchObject({ code: "unreachable" });
    expect(String(host.failures.get("broken"))).toContain("exit code 3");
    expect(String(host.failures.get("missing"))).toContain("no-such-program");
    expect(String(host.failures.get("unclear"))).toContain('The server "unclear" has neither a command nor a url.');
    expect(await namesOf(host)).toContain("remote__add");
  });

  test("does not affect other servers when a server fails later", async () => {
    const failures: unknown[] = [];
    const [one, two] = [await serve(["a"]), await serve(["b"])];
    const host = await open(
      { one: { url: one.url }, two: { url: two.url } },
      { onFailure: (server) => failures.push(server) },
    );
    expect(await namesOf(host)).toEqual(["one__a", "two__b"]);
    await host.clients.get("one")?.close();
    expect(await namesOf(host)).toEqual(["two__b"]);
    expect(failures).toEqual(["one"]);
    expect(await host.callTool("two__b")).toMatchObject({ content: [{ text: "b" }] });
  });

  test("sends the headers of the configuration, together with the headers of the options", async () => {
    const seen: Record<string, unknown>[] = [];
    const server = await serve([], (headers) => seen.push(headers as Record<string, unknown>));
    const entry = { url: server.url, headers: { "X-Key": `\${env:KEY}` } };
    const variables = (name: string) => (name === "KEY" ? "secret" : undefined);
    await open({ one: entry }, { variables, optionsFor: (name) => ({ headers: { "X-Server": name } }) });
    await open({ one: entry }, { variables, optionsFor: () => ({ headers: () => ({ "X-Server": "computed" }) }) });
    expect(seen).toMatchObject([
      { "x-key": "secret", "x-server": "one" },
      { "x-key": "secret", "x-server": "computed" },
    ]);
  });

  test("closes all servers", { tags: "long" }, async () => {
    const host = await open({ remote: { url: lab.url() }, local: { command: NODE, args: [SERVER] } });
    await host.close();
    for (const client of host.clients.values()) {
      await expect(client.listTools()).rejects.toMatchObject({ code: "closed" });
    }
  });

  test("requires stdio() for a command", async () => {
    const host = await openHost({ mcpServers: { local: { command: "node" } } }, { client: ME });
    expect(String(host.failures.get("local"))).toContain("Pass stdio of mcp-edge/node");
  });
});

describe("the names of a host's tools", () => {
  test("are different, have only characters that models accept, and have at most 64 characters", () => {
    const taken = new Set<string>();
    const add = (server: string, tool: string) => {
      const name = createToolName(server, tool, taken);
      taken.add(name);
      return name;
    };
    expect(add("my server", "read.file")).toBe("my_server__read_file");
    expect(add("my.server", "read file")).toBe("my_server__read_file_2");
    expect(add("a", "b__c")).toBe("a__b__c");
    expect(add("a__b", "c")).toBe("a__b__c_2");
    const long = "x".repeat(100);
    expect(add(long, "y")).toHaveLength(64);
    expect(add(long, "z")).toMatch(/^x{62}_2$/);
  });
});

describe("a configuration of a host", () => {
  const none = () => undefined;

  test("can be the configuration of VS Code, and omits disabled servers", () => {
    const config = { servers: { one: { url: "https://a.example" }, two: { disabled: true } }, inputs: [] };
    expect([...listServers(config).keys()]).toEqual(["one"]);
    for (const wrong of [{}, null, { mcpServers: [] }]) expect(() => listServers(wrong)).toThrow("has no servers");
  });

  test("can have variables, with defaults", () => {
    const values: Record<string, string> = { HOME: "/home/ada", "input:key": "k", workspaceFolder: "/work" };
    const entry = {
      command: `\${HOME}/bin/server`,
      args: ["--root", `\${workspaceFolder}`, `\${PORT:-8080}`, "$PLAIN"],
      env: { KEY: `\${input:key}`, COUNT: 3, PATH: `\${env:HOME}:\${env:HOME}` },
    };
    expect(readServer("one", entry, (name) => values[name])).toEqual({
      command: "/home/ada/bin/server",
      args: ["--root", "/work", "8080", "$PLAIN"],
      env: { KEY: "k", COUNT: "3", PATH: "/home/ada:/home/ada" },
    });
    expect(() => readServer("one", { url: `https://\${HOST}/mcp` }, none)).toThrow(
      `The server "one" uses the variable \${HOST} in url, which has no value.`,
    );
  });

  test.each([
    ["text", "is not an object"],
    [{ command: 7 }, "a member command that is not a string"],
    [{ command: "a", args: "b" }, "a member args that is not an array"],
    [{ command: "a", env: { B: {} } }, "a member env.B that is not a string"],
    [{ url: "https://a.example", headers: [] }, "a member headers that is not an object"],
  ])("causes an error with server and member if it is wrong (%j)", (entry, text) => {
    expect(() => readServer("one", entry, none)).toThrow(`The server "one"`);
    expect(() => readServer("one", entry, none)).toThrow(text);
  });

  test("is read from a file with comments and trailing commas", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "config-")), "mcp.json");
    writeFileSync(
      file,
      `\uFEFF{ // the servers
        "mcpServers": { /* one */ "one": { "url": "https://a.example//x,}", "args": ["a", "b", ], }, // end
        },
      }`,
    );
    expect(await readMcpConfig(file)).toEqual({
      mcpServers: { one: { url: "https://a.example//x,}", args: ["a", "b"] } },
    });
    writeFileSync(file, "[1]");
    await expect(readMcpConfig(file)).rejects.toThrow("does not contain a JSON object");
    writeFileSync(file, "{1}");
    await expect(readMcpConfig(file)).rejects.toThrow(`${file} is not JSON`);
    await expect(readMcpConfig(`${file}.absent`)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

/** Runs the commands in the weather template's README. */
import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, test } from "vitest";
import { NODE } from "../oracle/node.ts";
import { startWeatherCommand, startWeatherWorker, TEXAS_ALERTS } from "./weather.ts";

const run = promisify(exec);
const TEMPLATE = join(import.meta.dirname, "../../templates/weather");
const README = readFileSync(join(TEMPLATE, "README.md"), "utf8");
/** The project's own Node comes first in PATH, as in npm scripts. */
const ENV = { ...process.env, PATH: [dirname(NODE), process.env.PATH].join(delimiter) };

function blocks(language: string): string[] {
  return [...README.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, kind, text = ""]) =>
    kind === language ? [text] : [],
  );
}

function block(language: string, part: string): string {
  const [found, ...more] = blocks(language).filter((text) => text.includes(part));
  if (found === undefined || more.length > 0) throw new Error(`not exactly one ${language} block with ${part}`);
  return found;
}

describe("the README of the weather template", () => {
  test("its curl command gets the alerts of Texas", { tags: "long" }, async () => {
    const weather = await startWeatherWorker();
    try {
      const tap = await weather.tap();
      const { stdout } = await run(block("sh", "curl ").replace("http://127.0.0.1:8787/mcp", tap.url), { env: ENV });
      expect(JSON.parse(stdout)).toMatchObject({ result: { content: [{ type: "text", text: TEXAS_ALERTS }] } });
      tap.oracle.expectClean();
    } finally {
      await weather.stop();
    }
  });

  test("its printf command prints three responses", { tags: "long" }, async () => {
    const weather = await startWeatherCommand();
    try {
      const shown = block("sh", "printf ");
      expect(shown).toContain("npm run --silent stdio");
      const { scripts } = JSON.parse(readFileSync(join(TEMPLATE, "package.json"), "utf8"));
      // Runs the script as npm would, in the template's folder, but without npm itself.
      const env = { ...ENV, NODE_OPTIONS: weather.preload };
      const { stdout } = await run(shown.replace("npm run --silent stdio", scripts.stdio), { cwd: TEMPLATE, env });
      const answers = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3]);
      expect(answers.find(({ id }) => id === 3)?.result.content[0].text).toBe(TEXAS_ALERTS);
    } finally {
      await weather.stop();
    }
  });

  test("its command for Claude Desktop starts the server from any folder", { tags: "long" }, async () => {
    const config = JSON.parse(block("json", "stdio.ts")) as {
      mcpServers: { weather: { command: string; args: string[] } };
    };
    const { command, args } = config.mcpServers.weather;
    const absolute = (path: string) =>
      path.replace("/ABSOLUTE/PATH/TO/node", NODE).replace("/ABSOLUTE/PATH/TO/weather", TEMPLATE);
    const client = new Client({ name: "readme", version: "1.0.0" });
    await client.connect(
      new StdioClientTransport({ command: absolute(command), args: args.map(absolute), cwd: "/", env: { PATH: "" } }),
    );
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toEqual(["get_alerts", "get_forecast", "get_weather"]);
  });

  test("says where the configuration is, and what to ask", () => {
    for (const said of [
      "~/Library/Application Support/Claude/claude_desktop_config.json",
      "%APPDATA%\\Claude\\claude_desktop_config.json",
      "What's the weather in Sacramento?",
      "What are the active weather alerts in Texas?",
    ]) {
      expect(README).toContain(said);
    }
  });

  test("names files and scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(TEMPLATE, "package.json"), "utf8"));
    for (const [, name = ""] of README.matchAll(/npm run (?:--silent )?([a-z]+)/g)) {
      expect(scripts).toHaveProperty(name);
    }
    for (const [, file = ""] of README.matchAll(/^\| `([\w./]+\.(?:ts|toml))` \|/gm)) {
      expect(readFileSync(join(TEMPLATE, file), "utf8")).not.toBe("");
    }
  });
});

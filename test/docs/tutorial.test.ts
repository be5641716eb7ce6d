// @module-tag long
/** Follows the tutorial page by page in one folder, as a reader: writes every file, and runs every command. */

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { KEYS, Screen } from "../cli/pty.ts";
import { Browser, fieldsOf, leadsTo } from "../worker/authorization.ts";
import { type Block, Project, readPages, writeBlock } from "./reader-project.ts";

/** Long enough for the tests of the project, which start workerd several times, on a loaded machine. */
const LONG_MS = 600_000;

let project: Project;
beforeAll(async () => {
  project = await Project.create(mkdtempSync(join(tmpdir(), "mcp-edge-tutorial-")));
});
afterEach(() => project.stop());
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

/** How the blocks with a title that does not name a file are run. */
const RUN: Readonly<Record<string, (block: Block) => Promise<void>>> = {
  // The packages are linked, because tests do not use the network.
  install: async (block) => {
    const [line = "", ...more] = block.text.split("\n").filter((each) => each.startsWith("npm init"));
    expect(more).toEqual([]);
    project.run({ ...block, text: line });
  },
  server: (block) => project.start(block),
  try: async (block) => {
    await project.start({ ...block, text: "npm start\n", output: ["The MCP server is ready."] });
    project.expectLines(project.run(block), block.output);
  },
  dialogue: answerWithYes,
  "sign-in": signInAndOut,
  chat: chat,
};

test.each(readPages("tutorial"))(
  "$name leads to a project that works as the page shows",
  { timeout: LONG_MS },
  async (page) => {
    for (const block of page.blocks) {
      const { language, title, text, output } = block;
      if (language === "text") continue;
      if (language !== "sh") writeBlock(project.folder, block);
      else if (title === undefined) project.expectLines(project.run(block), output);
      else await (RUN[title] ?? expect.fail(`There is no way to run ${title}: ${text}`))(block);
    }
  },
);

/** Opens a line of a shell in a terminal, in the project. */
function open(line: string, env: Readonly<Record<string, string>> = {}): Screen {
  return new Screen([project.command(line)], { ...project.env, ...env }, ["sh", "-c"], project.folder);
}

/** Confirms the call, and answers the question of the server with yes. */
async function answerWithYes({ text, output }: Block): Promise<void> {
  using screen = open(text);
  const keys = { "Run it?": "y", "Do you want to answer": "\r", ": Delete them": `${KEYS.down}${KEYS.enter}` };
  for (const [question, key] of Object.entries(keys)) {
    await screen.shows(question);
    screen.press(key);
  }
  await screen.shows(output.at(-1) ?? "");
  project.expectLines(screen.text, output);
}

/** Runs three commands, of which the first opens a browser. */
async function signInAndOut({ text }: Block): Promise<void> {
  const [add = "", list = "", logout = ""] = text.trim().split("\n");
  using adding = open(add);
  await adding.shows("Sign in at: ");
  const page = () => /Sign in at: (\S+)\n/.exec(adding.text)?.[1];
  await expect.poll(page).toBeDefined();
  await allowAs("ada", page() ?? "");
  expect(await adding.ended()).toBe(0);
  expect(adding.text).toContain("Noted: 3.20 for coffee.");
  for (const [line, printed] of [
    [list, "Total: 3.20"],
    [logout, ""],
  ] as const) {
    using screen = open(line);
    expect(await screen.ended(), screen.text).toBe(0);
    expect(screen.text).toContain(printed);
    expect(screen.text).not.toContain("Sign in at");
  }
}

/** Signs in as a development user and allows the client, as in a browser. */
async function allowAs(user: string, page: string): Promise<void> {
  const { origin } = new URL(page);
  const browser = new Browser();
  const locationOf = async (url: string) => new URL((await browser.get(url)).headers.get("Location") ?? "", origin);
  const choice = await locationOf(page);
  const chosen = new URLSearchParams({ state: choice.searchParams.get("choose") ?? "", user });
  const consent = await locationOf(`${origin}/authorize/callback/development?${chosen}`);
  const question = await browser.get(consent.href);
  const answered = await browser.post(`${origin}/authorize`, { ...fieldsOf(await question.text()), decision: "allow" });
  expect(await (await fetch(leadsTo(await answered.text()))).text()).toContain("You are signed in");
}

/** Talks to the chat program, whose model is a script behind the API that the page describes. */
async function chat({ text, output }: Block): Promise<void> {
  const call = (name: string, args: object) => ({
    id: name,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  });
  const script: object[] = [
    { tool_calls: [call("add_expense", { what: "tea", amount: 2 })] },
    { tool_calls: [call("clear_expenses", {})] },
    { content: output.at(-1) },
  ];
  const requests: string[] = [];
  const model = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    requests.push(body);
    const message = { role: "assistant", content: null, ...script.shift() };
    response.end(JSON.stringify({ choices: [{ message }] }));
  });
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = model.address() as AddressInfo;
    using screen = open(text, { MODEL_URL: `http://127.0.0.1:${port}/v1`, MODEL: "scripted", MODEL_KEY: "key" });
    for (const line of output.slice(0, -1)) {
      const [shown, typed] = dividePrompt(line);
      await screen.shows(shown);
      if (typed !== undefined) screen.press(typed, "\r");
    }
    await screen.shows(output.at(-1) ?? "");
    screen.press("\r");
    expect(await screen.ended()).toBe(0);
    project.expectLines(screen.text, output);
    expect(requests[2]).toContain("Noted: 2.00 for tea.");
  } finally {
    model.close();
  }
}

/** Divides a line of the dialogue into the prompt, and what the user has typed. */
function dividePrompt(line: string): readonly [shown: string, typed: string | undefined] {
  const [, prompt, typed] = /^(>|.*\(y\/n\)|.*refuse\):) (.*)$/.exec(line) ?? [];
  return [prompt ?? line, typed];
}

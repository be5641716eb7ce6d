// @module-tag long
/** Messages of clients and servers cannot crash the recorder or control the terminal. */
import { describe, expect, test } from "vitest";
import { formatLine } from "../../src/node/record/line.ts";
import { CALL, events, exchange, json, RESULT } from "./behind-proxy.ts";

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const DEEP = nested(100_000);
const DEEP_OBJECT = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
describe.each([true, false])("JSON that is nested 100,000 levels deep (contents: %s)", (contents) => {
  test.each([
    ["an argument", CALL.replace("{}", DEEP), json(RESULT)],
    ["all parameters", CALL.replace(/"params":.*/, `"params":${DEEP_OBJECT}}`), json(RESULT)],
    ["_meta", CALL.replace("{}", `{},"_meta":${DEEP_OBJECT}`), json(RESULT)],
    ["the id", CALL.replace('"id":1', `"id":${DEEP}`), json(RESULT)],
    ["the method", CALL.replace('"tools/call"', DEEP), json(RESULT)],
    ["the whole body", DEEP, json(RESULT)],
    ["an answer of the client", `{"jsonrpc":"2.0","id":7,"result":${DEEP_OBJECT}}`, json(RESULT)],
    ["a result", CALL, json(RESULT.replace("[]", DEEP))],
    [
      "a list of tools",
      CALL,
      json(RESULT.replace('"content":[]', `"tools":[{"name":"x","inputSchema":${DEEP_OBJECT}}]`)),
    ],
    ["an error", CALL, json(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":${DEEP}}}`)],
    ["an event", CALL, events(RESULT.replace("[]", DEEP))],
    [
      "a question",
      CALL,
      events(`{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":${DEEP}}}`, RESULT),
    ],
    [
      "questions in a result",
      CALL,
      json(RESULT.replace("[]", `[],"inputRequests":{"a":{"method":"m","params":{"url":${DEEP}}}}`)),
    ],
  ])("in %s is forwarded, and the entry is limited in size", async (_, body, response) => {
    const entry = await exchange(body, response, contents);
    expect(JSON.stringify(entry).length).toBeLessThan(10_000);
  });
});

test.each([true, false])(
  "text from clients and servers cannot control the terminal (contents: %s)",
  async (contents) => {
    const evil = "\\u001b]0;title\\u0007\\u001b[2J\\r\\nFAKE LINE\\u2028\\u202e\\u009b1m";
    const meta = `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"${evil}","version":"${evil}"},"io.modelcontextprotocol/protocolVersion":"${evil}"}`;
    const body = CALL.replace('"name":"x"', `"name":"${evil}",${meta}`);
    const error = `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"${evil}"}}`;
    const entry = await exchange(body, json(error), contents);
    const line = formatLine(entry);
    expect(line).toMatch(/^\d\d:\d\d:\d\d {2}/);
    expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
    expect(line.length).toBeLessThan(500);
  },
);

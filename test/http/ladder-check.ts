/** Sends a row of the ladder and checks the response, wherever the endpoint runs. */
import { expect } from "vitest";
import type { Expected } from "./ladder-row.ts";
import { isMembers, type Members, NEWEST_LEGACY } from "./messages.ts";
import { type Answer, type Ask, type HeaderValue, parse } from "./wire.ts";

/**
 * Replaces the placeholders `<session>`, `<session 2025-03-26>`, `<origin>` and `<port>` by values known only at run
 * time.
 */
export function filled(ask: Ask, origin: string, sessions: ReadonlyMap<string, string>): Ask {
  const fill = (text: string): string =>
    text
      .replace("<origin>", origin)
      .replace("<port>", new URL(origin).port)
      .replace(/<session(?: (\S+))?>/, (_, version = NEWEST_LEGACY) => sessions.get(version) ?? "");
  const headers = Object.entries(ask.headers).map(([name, value]): [string, HeaderValue | undefined] => {
    if (value === undefined || typeof value === "string") return [name, value === undefined ? value : fill(value)];
    return [name, value.map(fill)];
  });
  return { ...ask, headers: Object.fromEntries(headers) };
}

/** Returns the only message of a response. */
export function single(answer: Answer): Members {
  const [message] = answer.messages;
  if (answer.messages.length !== 1 || !isMembers(message)) throw new Error(`not one message: ${answer.text}`);
  return message;
}

/** Matches internal details: a stack frame, a file name, an engine's error name, a binding. */
export const INSIDES =
  /\bat [^"]*:\d+:\d+|\.[cm]?[jt]s:\d+|node_modules|\b(Type|Range|Syntax|Reference)Error\b|McpObject|MCP_KEYS/;

function expectError(expected: Expected, ask: Ask, answer: Answer): void {
  const message = single(answer);
  expect(answer.contentType).toBe("application/json");
  expect(message).not.toHaveProperty("result");
  const error = isMembers(message.error) ? message.error : {};
  expect([expected.code].flat()).toContain(error.code);
  if (expected.names) expect(error.message).toMatch(expected.names);
  if (expected.data) expect(error.data).toMatchObject(expected.data);
  const sent = ask.body === undefined ? undefined : parse(Buffer.from(ask.body).toString("utf8"))?.value;
  if (expected.id === null) expect(message).not.toHaveProperty("id");
  else if (expected.id !== undefined) expect(message.id).toBe(expected.id);
  else if (Object.hasOwn(message, "id")) expect(message.id).toBe(isMembers(sent) ? sent.id : "no id at all");
}

/** Fails unless a response matches what its row expects. */
export function expectAnswer(expected: Expected, ask: Ask, answer: Answer): void {
  expect([expected.status].flat(), answer.text).toContain(answer.status);
  expect(answer.text).not.toMatch(INSIDES);
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    if (value === null) expect(answer.headers).not.toHaveProperty(name);
    else expect([name, answer.headers[name]]).toEqual([name, expect.stringMatching(value)]);
  }
  if (expected.contentType) expect(answer.contentType).toBe(expected.contentType);
  if (expected.body === "empty") expect(answer.text).toBe("");
  if (expected.message !== undefined) expect(parse(answer.text)?.value).toMatchObject(expected.message as object);
  if (expected.code !== undefined) expectError(expected, ask, answer);
  else if (expected.id !== undefined && expected.id !== null) {
    expect(single(answer)).toMatchObject({ id: expected.id, result: expected.result ?? {} });
  }
}

/** Questions on the streams of a legacy session, and their answers. */
import { expect } from "vitest";
import type { Cuttable, Session } from "../conformance/support.ts";
import type { Members } from "../http/messages.ts";

/** The questions on a stream so far. */
export const questionsOf = ({ messages }: Cuttable) =>
  messages.filter(({ id, method }) => id !== undefined && method !== undefined);

/** Waits for a question of a stream, counted from 1. */
export async function asked(stream: Cuttable, count: number): Promise<Members> {
  await stream.has(`question ${count}`, () => questionsOf(stream).length >= count);
  return questionsOf(stream)[count - 1] ?? {};
}

/** Answers a form with the text of its message without the question mark, and a request for roots with one root. */
export async function answer(session: Session, { id, method, params }: Members): Promise<void> {
  const { message } = params as { message?: string };
  const result =
    method === "roots/list"
      ? { roots: [{ uri: "file:///a" }] }
      : { action: "accept", content: { value: message?.replace("?", "") } };
  expect((await session.send({ jsonrpc: "2.0", id, result })).status).toBe(202);
}

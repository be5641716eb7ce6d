/** A legacy session over HTTP whose client answers the server's requests, each in a separate POST. */
import { CONTENT, initialize, type Members, notification, request } from "../http/messages.ts";
import { Reading } from "../worker/client.ts";

export interface AskedSession {
  /** The server's requests so far, in order. */
  readonly asked: readonly Members[];
  /** Sends a request, answers the server's requests meanwhile, and returns the last message: the response. */
  request(method: string, params?: Members): Promise<Members>;
  notify(method: string): Promise<number>;
}

/** @param answer Returns the result for a question. */
export async function openAsked(
  url: string,
  version: string,
  capabilities: Members,
  answer: (question: Members) => Members,
): Promise<AskedSession> {
  const asked: Members[] = [];
  let ids = 0;
  let session: Record<string, string> = {};
  const post = (message: unknown): Promise<Response> => {
    const headers = { ...(CONTENT as Record<string, string>), ...session };
    return fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  };

  const greeting = initialize(version, "greeting");
  const response = await post({ ...greeting, params: { ...(greeting.params as Members), capabilities } });
  await response.text();
  session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": version };
  const notify = async (method: string) => {
    const { status, ...rest } = await readWhole(await post(notification(method)));
    if (rest.text !== "") throw new Error(`a notification was answered: ${rest.text}`);
    return status;
  };
  await notify("notifications/initialized");

  return {
    asked,
    notify,
    request: async (method, params) => {
      ids += 1;
      const id = `request ${ids}`;
      const answered = await post(request(method, params, id));
      if (answered.headers.get("content-type")?.startsWith("application/json"))
        return (await answered.json()) as Members;
      const reading = new Reading(answered);
      const known = new Set<unknown>();
      for (;;) {
        await reading.has(
          "a question or the end",
          ({ messages, isOver }) => isOver || open(messages, known).length > 0,
        );
        const questions = open(reading.messages, known);
        if (questions.length === 0) return reading.messages.at(-1) ?? {};
        for (const question of questions) {
          known.add(question.id);
          asked.push(question);
          await readWhole(await post({ jsonrpc: "2.0", id: question.id, result: answer(question) }));
        }
      }
    },
  };
}

/** Requests of the server that are not answered yet. */
function open(messages: readonly Members[], known: ReadonlySet<unknown>): readonly Members[] {
  return messages.filter(({ id, method }) => method !== undefined && id !== undefined && !known.has(id));
}

async function readWhole(response: Response): Promise<{ status: number; text: string }> {
  return { status: response.status, text: await response.text() };
}

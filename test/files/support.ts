/** A Worker with tools for files, and what a host, a model and a user do with it. */
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { newKeys } from "../harness/workerd.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";

export interface Called {
  readonly text: string;
  readonly isError: boolean;
  readonly result: Members;
}

/** A running Worker. */
export class FilesLab {
  readonly worker: TestWorker;

  private constructor(worker: TestWorker) {
    this.worker = worker;
  }

  /** @param entry Another entry file than that of the configuration. */
  static async start(entry?: string): Promise<FilesLab> {
    const worker = await startWorker({
      ...(entry === undefined ? {} : { entry }),
      wrangler: "test/files/fixtures/wrangler.toml",
      bindings: { MCP_KEYS: newKeys() },
    });
    return new FilesLab(worker);
  }

  stop = (): Promise<void> => this.worker.stop();

  /** Calls a tool as a user. */
  async call(name: string, args: Members = {}, user?: string, path = "/mcp"): Promise<Called> {
    const headers = user === undefined ? {} : { "x-user": user };
    const client = new ModernClient(this.worker.url(path));
    const { messages } = await readAnswer(client.call(name, args, { headers }));
    const message = messages.at(-1);
    const result = (message?.result ?? {}) as Members;
    const [block] = (result.content ?? []) as { readonly text?: string }[];
    return { text: block?.text ?? JSON.stringify(message), isError: result.isError === true, result };
  }

  /** Obtains a link for an upload. */
  async link(user?: string, path = "/mcp"): Promise<{ readonly file: string; readonly url: string }> {
    const { result } = await this.call("create_upload", {}, user, path);
    return result.structuredContent as { file: string; url: string };
  }

  /** Uploads a file, and returns its id. */
  async upload(name: string, body: BodyInit, user?: string, type?: string): Promise<string> {
    const { file, url } = await this.link(user);
    const response = await put(url, name, body, type);
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    return file;
  }

  /** What the bucket contains. */
  async stored(): Promise<readonly { readonly key: string; readonly size: number }[]> {
    return (await (await fetch(this.worker.url("/stored"))).json()) as { key: string; size: number }[];
  }
}

/** Uploads a file as curl does. */
export function put(url: string, name: string, body: BodyInit, type?: string): Promise<Response> {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  return fetch(url + encodeURIComponent(name), { method: "PUT", body, headers });
}

/**
 * Begins an upload with its headers only, and returns the answer. A refusal may end the connection before a body was sent, so this
 * connection is used for nothing else.
 */
export async function announce(url: string, name: string, bytes: number): Promise<{ status: number; text: string }> {
  const { hostname, port, pathname } = new URL(url);
  const headers = { "Content-Length": bytes };
  const path = `${pathname}${encodeURIComponent(name)}`;
  const sent = request({ hostname, port, path, method: "PUT", headers, agent: false });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve).on("error", reject);
      sent.flushHeaders();
    });
    return { status: response.statusCode ?? 0, text: await text(response) };
  } finally {
    sent.destroy();
  }
}

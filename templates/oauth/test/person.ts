/** A simulated person with a browser, who signs in and decides what clients may do, and the clients that open the browser. */
import { type Client, connect } from "mcp-edge/client";
import { oauth } from "mcp-edge/client/oauth";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** The redirect URI. Nothing listens there, because the simulated browser passes the URL to the client. */
const CALLBACK = "http://127.0.0.1:8976/callback";

export class Person {
  /** The user that the person chooses on the sign-in page. */
  readonly #name: string;
  readonly #cookies = new Map<string, string>();
  /** The scopes that clients have requested, one entry each time the browser was opened. */
  readonly asked: string[] = [];
  decision: "allow" | "deny" = "allow";

  constructor(name: string) {
    this.#name = name;
  }

  /** Signs in and decides. Returns the URL with which the browser returns to the client. */
  async authorize(url: string): Promise<string> {
    this.asked.push(new URL(url).searchParams.get("scope") ?? "");
    let at = url;
    for (let pages = 0; pages < 20; pages++) {
      if (at.startsWith(CALLBACK)) return at;
      const answer = await this.#send(at);
      const next = answer.headers.get("Location") ?? (await this.#leave(await answer.text(), at));
      at = new URL(next, at).href;
    }
    throw new Error(`The browser was sent in a circle, at last to ${at}`);
  }

  /** Submits the person's choice on a page. Returns the URL of the next page. */
  async #leave(page: string, at: string): Promise<string> {
    if (page.includes('name="decision"')) {
      const hidden = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
      const fields = hidden.map(([, name = "", value = ""]): [string, string] => [name, plain(value)]);
      const form = new URLSearchParams([...fields, ["decision", this.decision]]);
      const answer = await this.#send(new URL("/authorize", at).href, form);
      page = await answer.text();
    }
    const links = [...page.matchAll(/<a [^>]*href="([^"]*)"[^>]*>([^<]*)</g)];
    const link = links.find(([, , text = ""]) => text.includes(this.#name) || text.includes("Continue with"));
    const url = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(page)?.[1] ?? link?.[1];
    if (url === undefined) throw new Error(`The person does not know what to do on this page: ${page}`);
    return plain(url);
  }

  async #send(url: string, form?: URLSearchParams): Promise<Response> {
    const Cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { Cookie, Origin: new URL(url).origin };
    const answer = await fetch(url, { redirect: "manual", headers, ...(form && { method: "POST", body: form }) });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(name, value);
    }
    return answer;
  }

  /** Connects a client of this person. Each client has its own tokens. */
  connect(url: string, version: string = MODERN): Promise<Client> {
    const authorize = (to: string) => this.authorize(to);
    const redirect = { url: CALLBACK, open: () => ({ url: CALLBACK, authorize, close: () => {} }) };
    const me = { name: "test", version: "1.0.0", onEvent: () => {} };
    return connect(url, { ...me, protocolVersions: [version], auth: oauth({ redirect }) });
  }
}

const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

/** Calls a tool. Returns its structured result, or its text, including the text of an error. */
export async function call(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const { content, structuredContent } = await client.callTool(tool, args);
  return structuredContent ?? content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Writes the files of a description in this process, and reads them as TypeScript does. */
import { Session } from "../../packages/openapi/src/main.ts";

/** An answer of the generator. */
export interface Answer {
  readonly type: string;
  readonly message?: string;
  readonly missing?: readonly string[];
  readonly servers?: readonly string[];
  readonly tools?: readonly {
    readonly id: string;
    readonly name: string;
    readonly listed: { readonly description: string; readonly inputSchema: object };
  }[];
  readonly refused?: readonly { readonly id: string; readonly reason: string }[];
  readonly files?: readonly { readonly path: string; readonly text: string }[];
}

/** Reads a description, as a value or as text. */
export function readDescription(given: object | string, session: Session = new Session()): Answer {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  return session.answer({
    type: "read",
    main: "api.yaml",
    texts: { "api.yaml": text },
    schemaBytesMax: 16_384,
  }) as Answer;
}

/** Writes all operations of a description. Returns the texts by path. */
export function writeAll(given: object | string, access: "service" | "user" = "service"): Record<string, string> {
  const session = new Session();
  const { tools = [], message } = readDescription(given, session);
  if (message !== undefined) throw new Error(message);
  const operations = tools.map(({ id }) => id);
  const baseUrl = "https://api.example.com";
  const written = session.answer({ type: "write", operations, name: "shop", baseUrl, access }) as Answer;
  return Object.fromEntries((written.files ?? []).map(({ path, text }) => [path, text]));
}

/** Returns a description with these paths. */
export function api(paths: object, more: object = {}): object {
  return { openapi: "3.1.0", info: { title: "Shop", version: "1" }, paths, ...more };
}

/** Returns a GET operation with these members. */
export function get(more: object = {}): object {
  return { get: { tags: ["items"], responses: { 200: { description: "ok" } }, ...more } };
}

/** Helpers for the tests: a simulated payment service, clients, and a customer who answers questions. */
import { type Client, type ClientOptions, connect } from "mcp-edge/client";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** A simulated payment service with idempotency keys, like real services. It responds to the Worker's requests. */
export class Payments {
  /** The amount of each charge in cents, by idempotency key. */
  readonly charges = new Map<string, number>();
  /** The key of every request, in order. */
  readonly keys: string[] = [];
  /** Called before each response, after the charge was made. If it returns a response, that is sent instead. */
  before: (() => Response | undefined | Promise<Response | undefined>) | undefined;
  declines = false;

  readonly answer = async (request: Request): Promise<Response> => {
    const key = request.headers.get("Idempotency-Key") ?? "";
    const { amount } = (await request.json()) as { amount: number };
    this.keys.push(key);
    if (this.declines) return new Response("declined", { status: 402 });
    this.charges.set(key, amount);
    return (await this.before?.()) ?? Response.json({ id: `receipt-${this.charges.size}` });
  };
}

export const ADDRESS = { name: "Ada", street: "1 Main Street", city: "12345 Berlin" };

/**
 * Answers both questions of a checkout. `meanwhile` runs before the first answer to each question. After a crash, the server may
 * repeat a question that has not been answered yet, so `questions` contains each question once.
 */
export function customer(meanwhile: (question: string) => unknown = () => undefined) {
  const questions = new Set<string>();
  const onElicit: ClientOptions["onElicit"] = async ({ message }) => {
    const isNew = !questions.has(message);
    questions.add(message);
    if (isNew) await meanwhile(message);
    return { action: "accept", content: message.startsWith("Where") ? ADDRESS : { agreed: true } };
  };
  return { onElicit, questions };
}

export function open(target: Parameters<typeof connect>[0], version: string, options: Partial<ClientOptions> = {}) {
  return connect(target, {
    name: "test",
    version: "1.0.0",
    protocolVersions: [version],
    onEvent: () => {},
    ...options,
  });
}

/** Calls a tool. Returns its text, which begins with "Error: " if the tool failed. */
export async function call(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content, isError } = await client.callTool(tool, args);
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return isError ? `Error: ${text}` : text;
}

/** Starts a basket with two packets of espresso. Returns its id. */
export async function fill(client: Client): Promise<string> {
  const { structuredContent } = await client.callTool("start_basket");
  const { basket } = structuredContent as { basket: string };
  await client.callTool("set_quantity", { basket, product: "espresso", quantity: 2 });
  return basket;
}

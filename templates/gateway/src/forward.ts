/** Forwards a request to a server, its questions and progress to the caller, and the caller's answers to the server. */
import { type HandlerContext, type InputRequired, inputRequired, type Question } from "mcp-edge";
import type { ServerFacts } from "mcp-edge/client";
import { cleanText, mapText } from "mcp-edge/safe";
import { describeFailure, fail, holdsCalls, open } from "./connection.ts";
import type { OnProgress, Outcome, UpstreamCall } from "./held-call.ts";
import { type GatewayEnv, tokenFor, type Upstream } from "./upstreams.ts";

type Ctx = HandlerContext<GatewayEnv>;
type Json = Readonly<Record<string, unknown>>;

/** The capabilities with which a caller declares that it answers questions. */
const QUESTIONS = ["elicitation", "sampling", "roots"] as const;

/**
 * Returns the result of a request, or the server's questions. In that case, the gateway's client receives the questions in its own
 * protocol version, and the handler is called again with the answers.
 *
 * @throws {ToolError | McpError} if the request fails, naming the server.
 */
export async function forward(
  upstream: Upstream,
  known: ServerFacts | undefined,
  method: string,
  params: Json,
  ctx: Ctx,
): Promise<Json | InputRequired> {
  const capabilities = Object.fromEntries(
    QUESTIONS.filter((name) => ctx.client.can(name)).map((name) => [name, ctx.client.capabilities[name]]),
  );
  const token = tokenFor(upstream, ctx.env, ctx.auth?.subject);
  const call = { upstream, token, known, method, params, capabilities };
  const isHeld = known !== undefined && holdsCalls(known) && Object.keys(capabilities).length > 0;
  const { result, failure, questions, state } = isHeld ? await hold(call, ctx) : await send(call, ctx);
  ctx.signal.throwIfAborted();
  if (failure) fail(failure, method);
  if (result) return result;
  return inputRequired(
    mapValues(questions ?? {}, (question) => introduce(upstream, question)),
    state,
  );
}

/** Sends a request to a server of 2026-07-28, which returns its questions as a result and receives the answers in another request. */
async function send(
  { upstream, token, known, method, params, capabilities }: UpstreamCall,
  ctx: Ctx,
): Promise<Outcome> {
  const { inputResponses, requestState } = ctx;
  const isAnswered = requestState !== undefined || Object.keys(inputResponses).length > 0;
  const answers = isAnswered ? { inputResponses, ...(requestState === undefined ? {} : { requestState }) } : {};
  try {
    const client = await open(upstream, token, {
      serverFacts: known,
      // This client does not answer the questions itself, so it returns the result that contains them.
      use: [() => ({ capabilities, resultTypes: ["input_required"] })],
    });
    try {
      const result = await client.request(
        method,
        { ...params, ...answers },
        {
          signal: ctx.signal,
          timeoutMs: 0,
          onProgress: ({ progress, total, message }) => reportProgress(ctx)(progress, total, message),
        },
      );
      if (result.resultType !== "input_required") return { result };
      return {
        questions: (result.inputRequests ?? {}) as Record<string, Question>,
        state: result.requestState as string,
      };
    } finally {
      await client.close();
    }
  } catch (error) {
    return { failure: describeFailure(upstream, error) };
  }
}

/** Runs a call to an older server, which asks on the open connection. An object holds the connection; its name is the state. */
async function hold(call: UpstreamCall, ctx: Ctx): Promise<Outcome> {
  const id = ctx.requestState ?? crypto.randomUUID();
  const held = ctx.env.CALLS.getByName(id);
  const cancel = () => void held.cancel().catch(() => undefined);
  ctx.signal.addEventListener("abort", cancel);
  try {
    const text =
      ctx.requestState === undefined
        ? await held.begin(JSON.stringify(call), reportProgress(ctx))
        : await held.answer(JSON.stringify(ctx.inputResponses), reportProgress(ctx));
    return { ...(JSON.parse(text) as Outcome), state: id };
  } finally {
    ctx.signal.removeEventListener("abort", cancel);
  }
}

const reportProgress =
  (ctx: Ctx): OnProgress =>
  (progress, total, message) =>
    ctx.progress(progress, {
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message: cleanText(message) }),
    });

/** Adds the server's name to a question, and removes invisible characters from everything that the user reads. */
function introduce({ name }: Upstream, { method, params = {} }: Question): Question {
  const clean = mapText(params, (text) => cleanText(text)) as Json;
  if (method !== "elicitation/create") return { method, params: clean };
  const form = isForm(clean.requestedSchema) ? { requestedSchema: withTitles(clean.requestedSchema) } : {};
  return { method, params: { ...clean, ...form, message: `${name}: ${clean.message}` } };
}

type Form = Json & { readonly properties: Readonly<Record<string, Json>> };

function isForm(schema: unknown): schema is Form {
  return typeof schema === "object" && schema !== null && "properties" in schema;
}

/** Gives each field a title. Without a title, clients show the name of the field, which cannot be cleaned without changing it. */
function withTitles(schema: Form): Form {
  const titled = ([name, field]: [string, Json]) => [name, { title: cleanText(name), ...field }] as const;
  return { ...schema, properties: Object.fromEntries(Object.entries(schema.properties).map(titled)) };
}

function mapValues<V, W>(record: Readonly<Record<string, V>>, change: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

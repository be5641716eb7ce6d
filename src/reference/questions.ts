/**
 * The reference server's tools and prompt that ask the client questions.
 *
 * @module
 */
import { elicitQuestion, type HandlerContext, inputRequired, type McpServer } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const text = (name: string) =>
  jsonSchema<Record<string, string>>({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

const NAME_FORM = {
  type: "object",
  properties: { name: { type: "string", title: "Name" } },
  required: ["name"],
} as const;
const CAPITAL = {
  messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
  maxTokens: 100,
} as const;

export function addQuestions(server: McpServer): void {
  addStraightQuestions(server);
  addEnumQuestions(server);
  addSingleQuestions(server);
  addSeveralQuestions(server);
  addExplicitRounds(server);
}

/** Tools that ask on the stream of the call, for clients of the legacy era. */
function addStraightQuestions(server: McpServer): void {
  server.tool(
    "test_sampling",
    { description: "Asks the client's model", input: text("prompt") },
    async ({ prompt = "" }, ctx) => {
      const messages = [{ role: "user", content: { type: "text", text: prompt } }] as const;
      const answer = await ctx.sample({ messages, maxTokens: 100 });
      return `LLM response: ${JSON.stringify(answer.content)}`;
    },
  );
  server.tool(
    "test_elicitation",
    { description: "Asks the user two things", input: text("message") },
    async ({ message = "" }, ctx) => {
      const answer = await ctx.elicit(message, {
        type: "object",
        properties: {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        },
        required: ["username", "email"],
      });
      return `User response: ${JSON.stringify(answer)}`;
    },
  );
  server.tool(
    "test_elicitation_sep1034_defaults",
    { description: "Asks with a default of each type" },
    async (_, ctx) => {
      const answer = await ctx.elicit("Check these values", {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
      });
      return `Elicitation completed: ${JSON.stringify(answer)}`;
    },
  );
}

const OPTIONS = ["option1", "option2", "option3"];
const titled = (value: string, place: number) => ({ const: value, title: `Option ${place + 1}` });

function addEnumQuestions(server: McpServer): void {
  server.tool("test_elicitation_sep1330_enums", { description: "Asks with every kind of choice" }, async (_, ctx) => {
    const answer = await ctx.elicit("Choose", {
      type: "object",
      properties: {
        untitledSingle: { type: "string", enum: OPTIONS },
        titledSingle: { type: "string", oneOf: OPTIONS.map(titled) },
        legacyEnum: { type: "string", enum: OPTIONS, enumNames: ["Option 1", "Option 2", "Option 3"] },
        untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
        titledMulti: { type: "array", items: { anyOf: OPTIONS.map(titled) } },
      },
    });
    return `Elicitation completed: ${JSON.stringify(answer)}`;
  });
}

async function greet(ctx: HandlerContext): Promise<string> {
  const answer = await ctx.elicit("What is your name?", NAME_FORM, { key: "user_name" });
  return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello, stranger!";
}

/** Tools that ask one question, with the keys that the conformance suite answers. The same code serves both eras. */
function addSingleQuestions(server: McpServer): void {
  server.tool("test_input_required_result_elicitation", { description: "Asks for a name" }, (_, ctx) => greet(ctx));
  server.tool("test_streaming_elicitation", { description: "Asks for a name without streaming a request" }, (_, ctx) =>
    greet(ctx),
  );
  server.tool(
    "test_input_required_result_sampling",
    { description: "Asks the model for a capital" },
    async (_, ctx) => {
      const answer = await ctx.sample(CAPITAL, { key: "capital_question" });
      return `The model said: ${JSON.stringify(answer)}`;
    },
  );
  server.tool(
    "test_input_required_result_list_roots",
    { description: "Asks for the client's roots" },
    async (_, ctx) => `Roots: ${JSON.stringify(await ctx.listRoots({ key: "client_roots" }))}`,
  );
  server.tool("test_input_required_result_tampered_state", { description: "Asks once" }, async (_, ctx) => {
    const { action } = await ctx.elicit("Go on?", CONFIRM_FORM, { key: "confirm" });
    return `Confirmed: ${action}`;
  });
}

/** Tools and a prompt that ask several questions, together or one after another, or only questions that the client supports. */
function addSeveralQuestions(server: McpServer): void {
  server.tool(
    "test_input_required_result_multiple_inputs",
    { description: "Asks three things at once" },
    async (_, ctx) => {
      await Promise.all([
        ctx.elicit("What is your name?", NAME_FORM, { key: "user_name" }),
        ctx.sample(CAPITAL, { key: "greeting" }),
        ctx.listRoots({ key: "client_roots" }),
      ]);
      return "All three are answered.";
    },
  );
  server.tool(
    "test_input_required_result_multi_round",
    { description: "Asks twice, one after the other" },
    async (_, ctx) => {
      await ctx.elicit("What is your name?", NAME_FORM, { key: "step1" });
      await ctx.elicit("What is your favorite color?", COLOR_FORM, { key: "step2" });
      return "Both rounds are done.";
    },
  );
  server.tool(
    "test_input_required_result_capabilities",
    { description: "Asks only what the client can answer" },
    async (_, ctx) => {
      const asked: Promise<unknown>[] = [];
      if (ctx.client.can("sampling")) asked.push(ctx.sample(CAPITAL, { key: "capital_question" }));
      if (ctx.client.can("elicitation.form")) asked.push(greet(ctx));
      await Promise.all(asked);
      return "Everything asked was answered.";
    },
  );
  server.prompt("test_input_required_result_prompt", { description: "Asks for context first" }, async (_, ctx) => {
    const answer = await ctx.elicit("In what context?", CONTEXT_FORM, { key: "user_context" });
    return `Context: ${answer.action === "accept" ? answer.content.context : "none"}`;
  });
}

/** A tool that asks by returning `inputRequired()` with its own state. */
function addExplicitRounds(server: McpServer): void {
  const confirm = inputRequired({ confirm: elicitQuestion("Go on?", CONFIRM_FORM) }, "waiting");
  server.tool(
    "test_input_required_result_request_state",
    { description: "Asks once and checks that its state is returned" },
    (_, { inputResponses, requestState }) =>
      inputResponses.confirm !== undefined && requestState === "waiting" ? "state-ok" : confirm,
  );
}

const CONFIRM_FORM = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const COLOR_FORM = { type: "object", properties: { color: { type: "string" } }, required: ["color"] } as const;
const CONTEXT_FORM = { type: "object", properties: { context: { type: "string" } }, required: ["context"] } as const;

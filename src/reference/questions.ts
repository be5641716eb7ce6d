/**
 * The reference server's tools and prompts that ask the client something.
 *
 * @module
 */
import { elicitQuestion, type HandlerContext, inputRequired, type McpServer, type Question } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const text = (name: string) =>
  jsonSchema<Record<string, string>>({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

const NAME_FORM = {
  type: "object",
  properties: { name: { type: "string", title: "Name" } },
  required: ["name"],
} as const;
const askName = elicitQuestion("What is your name?", NAME_FORM);
const askCapital: Question = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
    maxTokens: 100,
  },
};
const askRoots: Question = { method: "roots/list", params: {} };

export function addQuestions(server: McpServer): void {
  addStraightQuestions(server);
  addEnumQuestions(server);
  addRounds(server);
}

/** Asked over the stream of the call: legacy clients. */
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
  server.tool("test_elicitation_sep1330_enums", { description: "Asks with each kind of choice" }, async (_, ctx) => {
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

/** The content of an accepted form, when a field of it is text. */
function accepted(ctx: HandlerContext, key: string, field: string): string | undefined {
  const answer = ctx.inputResponses[key] as { action?: unknown; content?: Record<string, unknown> } | null | undefined;
  const value = answer?.action === "accept" ? answer.content?.[field] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** Asked by returning: the same code in both eras. */
function addRounds(server: McpServer): void {
  server.tool("test_input_required_result_elicitation", { description: "Asks for a name" }, (_, ctx) => {
    const name = accepted(ctx, "user_name", "name");
    return name === undefined ? inputRequired({ user_name: askName }) : `Hello, ${name}!`;
  });
  server.tool(
    "test_streaming_elicitation",
    { description: "Asks for a name without streaming a request" },
    (_, ctx) => {
      const name = accepted(ctx, "user_name", "name");
      return name === undefined ? inputRequired({ user_name: askName }) : `Hello, ${name}!`;
    },
  );
  server.tool("test_input_required_result_sampling", { description: "Asks the model for a capital" }, (_, ctx) => {
    const answer = ctx.inputResponses.capital_question;
    return answer === undefined
      ? inputRequired({ capital_question: askCapital })
      : `The model said: ${JSON.stringify(answer)}`;
  });
  server.tool("test_input_required_result_list_roots", { description: "Asks for the client's roots" }, (_, ctx) => {
    const answer = ctx.inputResponses.client_roots;
    return answer === undefined ? inputRequired({ client_roots: askRoots }) : `Roots: ${JSON.stringify(answer)}`;
  });
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    server.tool(name, { description: "Asks once and wants its state back" }, (_, ctx) => {
      const answer = ctx.inputResponses.confirm;
      if (answer === undefined) return inputRequired({ confirm: elicitQuestion("Go on?", CONFIRM_FORM) }, "waiting");
      return ctx.requestState === "waiting"
        ? "state-ok"
        : inputRequired({ confirm: elicitQuestion("Go on?", CONFIRM_FORM) }, "waiting");
    });
  }
  server.tool("test_input_required_result_multiple_inputs", { description: "Asks three things at once" }, (_, ctx) => {
    const { user_name, greeting, client_roots } = ctx.inputResponses;
    if (ctx.requestState === "three" && user_name && greeting && client_roots) return "All three are answered.";
    return inputRequired({ user_name: askName, greeting: askCapital, client_roots: askRoots }, "three");
  });
  server.tool(
    "test_input_required_result_multi_round",
    { description: "Asks twice, one after the other" },
    (_, ctx) => {
      if (ctx.requestState === undefined) return inputRequired({ step1: askName }, "round 1");
      if (ctx.requestState === "round 1")
        return inputRequired({ step2: elicitQuestion("Go on?", CONFIRM_FORM) }, "round 2");
      return "Both rounds are done.";
    },
  );
  server.tool(
    "test_input_required_result_capabilities",
    { description: "Asks only what the client can answer" },
    (_, ctx) => {
      const asked: Record<string, Question> = {};
      if (ctx.client.can("sampling")) asked.capital_question = askCapital;
      if (ctx.client.can("elicitation.form")) asked.user_name = askName;
      const isAnswered = Object.keys(asked).every((key) => ctx.inputResponses[key] !== undefined);
      return isAnswered ? "Everything asked was answered." : inputRequired(asked);
    },
  );
  server.prompt("test_input_required_result_prompt", { description: "Asks for context first" }, (_, ctx) => {
    const context = accepted(ctx, "user_context", "context");
    return context === undefined
      ? inputRequired({ user_context: elicitQuestion("In what context?", CONTEXT_FORM) })
      : `Context: ${context}`;
  });
}

const CONFIRM_FORM = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const CONTEXT_FORM = { type: "object", properties: { context: { type: "string" } }, required: ["context"] } as const;

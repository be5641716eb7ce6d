/**
 * The examples to try first: one for each feature of the kit, named after what it shows.
 *
 * @module
 */
import { type HandlerContext, type McpServer, ToolError } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";
import { addView } from "./tour-view.ts";

const READS = { readOnlyHint: true, openWorldHint: false } as const;
const ADDS = { destructiveHint: false, openWorldHint: false } as const;

/** Adds the examples. */
export function addTour(server: McpServer): void {
  addQuestions(server);
  addLongWork(server);
  addResults(server);
  addChanges(server);
  addView(server);
}

const GUESTS = {
  type: "object",
  properties: {
    guests: { type: "integer", title: "Guests", minimum: 1, maximum: 12, default: 2 },
    seating: {
      type: "string",
      title: "Seating",
      oneOf: [
        { const: "inside", title: "Inside" },
        { const: "terrace", title: "On the terrace" },
      ],
      default: "inside",
    },
  },
  required: ["guests"],
} as const;

function addQuestions(server: McpServer): void {
  server.tool(
    "book_table",
    {
      title: "A question in the middle of a call",
      description: "Books a table. It asks you how many guests there are, as a line of code that waits for the answer.",
      input: jsonSchema<{ restaurant: string }>({
        type: "object",
        properties: { restaurant: { type: "string", title: "Restaurant", default: "Trattoria Faggio" } },
        required: ["restaurant"],
      }),
      annotations: ADDS,
    },
    async ({ restaurant }, ctx) => {
      const answer = await ctx.elicit(`A table at ${restaurant} for how many?`, GUESTS);
      if (answer.action !== "accept") return "No table was booked.";
      const { guests, seating = "inside" } = answer.content;
      return `A table for ${guests} at ${restaurant}, ${seating === "terrace" ? "on the terrace" : "inside"}.`;
    },
  );
  server.tool(
    "link_account",
    {
      title: "A page that you have to open",
      description: "Asks you to open a page, for what the client must not see, such as a password.",
      annotations: ADDS,
    },
    async (_, ctx) => {
      const { action } = await ctx.elicitUrl("Sign in to link your account", "https://example.com/link");
      return action === "accept" ? "You have agreed to open the page." : "The account was not linked.";
    },
  );
  server.tool(
    "name_a_boat",
    {
      title: "The client's model at work",
      description: "Lets the model of the client write something (sampling). In this page you play the model.",
      input: jsonSchema<{ colour: string }>({
        type: "object",
        properties: { colour: { type: "string", enum: ["red", "green", "blue"], default: "blue" } },
        required: ["colour"],
      }),
      annotations: READS,
    },
    async ({ colour }, ctx) => {
      const text = `Suggest one name for a ${colour} boat.`;
      const { content } = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text } }],
        maxTokens: 40,
      });
      const first = Array.isArray(content) ? content[0] : content;
      return first?.type === "text" ? `The boat is called ${first.text}.` : "The model wrote no text.";
    },
  );
}

const STAGES = ["Heating the drum", "Drying", "Browning", "First crack", "Cooling"];

function addLongWork(server: McpServer): void {
  server.tool(
    "roast_coffee",
    {
      title: "Progress, and a cancel button that works",
      description: "Takes some seconds, reports progress, and stops when you cancel.",
      input: jsonSchema<{ seconds: number }>({
        type: "object",
        properties: { seconds: { type: "number", minimum: 1, maximum: 60, default: 5 } },
        required: ["seconds"],
      }),
      annotations: READS,
    },
    async ({ seconds }, ctx) => {
      for (const [at, message] of STAGES.entries()) {
        ctx.progress(at, { total: STAGES.length, message });
        ctx.log("info", message, "roaster");
        await pause((seconds * 1000) / STAGES.length, ctx);
      }
      return `Roasted in ${seconds} s.`;
    },
  );
  server.tool(
    "write_report",
    {
      title: "A task in the background",
      description:
        "Runs as a task if the client can do that. It goes on when you close the page, and survives a crash.",
      input: jsonSchema<{ pages: number }>({
        type: "object",
        properties: { pages: { type: "integer", minimum: 1, maximum: 20, default: 3 } },
        required: ["pages"],
      }),
      annotations: READS,
      task: "optional",
    },
    async ({ pages }, ctx) => {
      for (let page = 1; page <= pages; page += 1) {
        await ctx.step(`page ${page}`, async () => {
          await pause(1000, ctx);
          return page;
        });
        ctx.progress(page, { total: pages, message: `Page ${page} of ${pages}` });
      }
      return `A report of ${pages} pages.`;
    },
  );
  server.tool(
    "tell_a_story",
    {
      title: "A stream that breaks, and continues",
      description: "The server cuts the connection while it works. The client resumes, and misses nothing.",
      annotations: READS,
    },
    async (_, ctx) => {
      ctx.log("info", "Once upon a time");
      ctx.disconnect(200);
      await pause(400, ctx);
      ctx.log("info", "the connection was lost,");
      return "and they resumed happily ever after.";
    },
  );
}

function addResults(server: McpServer): void {
  server.tool(
    "pay_invoice",
    {
      title: "A call that runs once",
      description:
        "Each key pays once, however often the call is sent. Send it again with the same key: the receipt stays the same.",
      input: jsonSchema<{ invoice: string; euros: number }>({
        type: "object",
        properties: {
          invoice: { type: "string", default: "2026-0042" },
          euros: { type: "number", exclusiveMinimum: 0, default: 120 },
        },
        required: ["invoice", "euros"],
      }),
      output: jsonSchema<{ receipt: string }>({
        type: "object",
        properties: { receipt: { type: "string" } },
        required: ["receipt"],
      }),
      annotations: ADDS,
      once: true,
    },
    () => ({ receipt: crypto.randomUUID() }),
  );
  server.tool(
    "ship_parcel",
    {
      title: "An error that helps",
      description: "Fails above 30 kg, and says what to do instead, so that a model can go on.",
      input: jsonSchema<{ kilograms: number; to: { city: string; express?: boolean } }>({
        type: "object",
        properties: {
          kilograms: { type: "number", exclusiveMinimum: 0, default: 42 },
          to: {
            type: "object",
            title: "To",
            properties: { city: { type: "string", default: "Bern" }, express: { type: "boolean" } },
            required: ["city"],
          },
        },
        required: ["kilograms", "to"],
      }),
      annotations: ADDS,
    },
    ({ kilograms, to }) => {
      if (kilograms > 30)
        throw new ToolError(`A parcel has at most 30 kg. Ship ${Math.ceil(kilograms / 30)} parcels instead.`);
      return `On its way to ${to.city}${to.express ? ", express" : ""}.`;
    },
  );
}

function addChanges(server: McpServer): void {
  let visits = 0;
  server.resource(
    "tour://visitors",
    {
      name: "visitors",
      title: "A resource that changes",
      description: "Subscribe to it, and call count_visitor: it is read again by itself.",
      mimeType: "application/json",
    },
    () => JSON.stringify({ visits }),
  );
  server.tool(
    "count_visitor",
    {
      title: "Change a resource that is watched",
      description: "Counts one more visitor, and notifies everyone who has subscribed to tour://visitors.",
      annotations: ADDS,
    },
    () => {
      visits += 1;
      server.resourceUpdated("tour://visitors");
      return [
        { type: "text", text: `${visits} so far.` },
        { type: "resource_link", uri: "tour://visitors", name: "visitors" },
      ];
    },
  );
  server.tool(
    "reset_visitors",
    {
      title: "A tool that deletes",
      description: "Says that it deletes something, so clients ask before they call it.",
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    () => {
      visits = 0;
      server.resourceUpdated("tour://visitors");
      return "No visitors.";
    },
  );
}

/** Waits, and rejects when the call is cancelled. */
function pause(ms: number, { signal }: HandlerContext): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

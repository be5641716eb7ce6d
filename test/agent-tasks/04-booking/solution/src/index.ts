import { DurableObject } from "cloudflare:workers";
import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
import * as z from "zod";

const booking = z.object({ number: z.string(), restaurant: z.string(), people: z.number(), day: z.string() });
type Booking = z.infer<typeof booking>;

interface Env {
  readonly BOOKINGS: DurableObjectNamespace<Bookings>;
}

/** All bookings. Booking again with the same number has no effect. */
export class Bookings extends DurableObject {
  constructor(state: DurableObjectState, env: unknown) {
    super(state, env as never);
    state.storage.sql.exec("CREATE TABLE IF NOT EXISTS booking (number TEXT PRIMARY KEY, details TEXT NOT NULL)");
  }

  book(made: Booking): void {
    this.ctx.storage.sql.exec("INSERT OR IGNORE INTO booking VALUES (?, ?)", made.number, JSON.stringify(made));
  }

  all(): string[] {
    const rows = this.ctx.storage.sql.exec<{ details: string }>("SELECT details FROM booking ORDER BY rowid");
    return [...rows].map(({ details }) => details);
  }
}

const server = new McpServer<Env>({ name: "booking", version: "1.0.0" });
server.tool(
  "book_table",
  {
    description: "Books a table after the user has confirmed",
    input: z.object({ restaurant: z.string().max(200) }),
    output: z.object({ booked: z.boolean(), number: z.string().optional() }),
  },
  async ({ restaurant }, ctx) => {
    const number = await ctx.step("number", () => crypto.randomUUID());
    const form = z.object({ people: z.number().int().min(1).max(20), day: z.string() });
    const answer = await ctx.elicit(`A table at ${restaurant}: for how many, and when?`, form);
    if (answer.action !== "accept") return { booked: false };
    const { people, day } = answer.content;
    if (people > 8) {
      const sure = await ctx.elicit(`Really a table for ${people}?`, z.object({ sure: z.boolean() }));
      if (sure.action !== "accept" || !sure.content.sure) return { booked: false };
    }
    await ctx.step("book", () => ctx.env.BOOKINGS.getByName("all").book({ number, restaurant, people, day }));
    return { booked: true, number };
  },
);
server.tool(
  "bookings",
  {
    description: "Lists all bookings",
    annotations: { readOnlyHint: true },
    output: z.object({ bookings: z.array(booking) }),
  },
  async (_, ctx) => ({
    bookings: (await ctx.env.BOOKINGS.getByName("all").all()).map((details) => JSON.parse(details) as Booking),
  }),
);

const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}

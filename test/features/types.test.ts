/** Types of definitions. `tsc` checks this file; the test runner only executes it. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { REGISTRY } from "../../src/core/define/server.ts";
import {
  definePrompt,
  defineResourceTemplate,
  defineTool,
  type HandlerContext,
  McpServer,
  type PromptDefinition,
  type ResourceTemplateDefinition,
  type ToolDefinition,
  type ToolOptions,
} from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";

interface Env {
  readonly API_KEY: string;
}

const server = () => new McpServer<Env>({ name: "s", version: "1.0.0" });

describe("types of arguments", () => {
  test("a handler's arguments have the types of the zod schema", () => {
    server().tool("t", { input: z.object({ a: z.number(), b: z.string().optional() }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b?: string | undefined }>();
      return "x";
    });
  });

  test("an argument with a default is never undefined", () => {
    server().tool("t", { input: z.object({ unit: z.enum(["c", "f"]).default("c") }) }, (args) => {
      expectTypeOf(args.unit).toEqualTypeOf<"c" | "f">();
      return "x";
    });
  });

  test("a transformed argument has the type it is transformed to", () => {
    server().tool("t", { input: z.object({ at: z.string().transform((text) => text.length) }) }, (args) => {
      expectTypeOf(args.at).toEqualTypeOf<number>();
      return "x";
    });
  });

  test("raw JSON Schema has the type that is given beside it", () => {
    server().tool("t", { input: jsonSchema<{ a: number }>({ type: "object" }) }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number }>();
      return "x";
    });
  });

  test("raw JSON Schema without a given type is unknown", () => {
    server().tool("t", { input: jsonSchema({ type: "object" }) }, (args) => {
      expectTypeOf(args).toBeUnknown();
      return "x";
    });
  });

  test("a tool without input has arguments without members", () => {
    server().tool("t", {}, (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, never>>();
      return "x";
    });
  });

  test("an argument that the schema lacks does not compile", () => {
    server().tool("t", { input: z.object({ a: z.number() }) }, (args) => {
      // @ts-expect-error: there is no such argument.
      return String(args.b);
    });
  });
});

describe("types of results", () => {
  const output = z.object({ n: z.number(), unit: z.string().default("c") });

  test("a value that matches the output schema compiles, with or without members that have a default", () => {
    server().tool("a", { output }, () => ({ n: 1 }));
    server().tool("b", { output }, async () => ({ n: 1, unit: "f" }));
  });

  test("a full result compiles if an output schema is declared", () => {
    server().tool("t", { output }, () => ({ content: [{ type: "text", text: "x" }], structuredContent: { n: 1 } }));
  });

  test("an error result compiles if an output schema is declared", () => {
    server().tool("t", { output }, async () => ({ content: [{ type: "text", text: "x" }], isError: true }));
  });

  test("a value of another type than the output schema does not compile", () => {
    // @ts-expect-error: n is a number.
    server().tool("t", { output }, () => ({ n: "one" }));
  });

  test("a promise of another type than the output schema does not compile", () => {
    // @ts-expect-error: n is a number.
    server().tool("t", { output }, async () => ({ n: "one" }));
  });

  test("a string does not compile if an output schema is declared", () => {
    // @ts-expect-error: the output is an object.
    server().tool("t", { output }, () => "one");
  });

  test("returning nothing does not compile if an output schema is declared", () => {
    // @ts-expect-error: the output is an object.
    server().tool("t", { output }, () => {});
  });

  test("every kind of result compiles without an output schema", () => {
    const bare = server();
    bare.tool("string", {}, () => "x");
    bare.tool("block", {}, () => ({ type: "text", text: "x" }));
    bare.tool("blocks", {}, () => [{ type: "image", data: new Uint8Array(1), mimeType: "image/png" }]);
    bare.tool("object", {}, () => ({ a: 1 }));
    bare.tool("nothing", {}, () => {});
    bare.tool("promise", {}, async () => "x");
    expect(bare[REGISTRY].tools.size).toBe(6);
  });

  test("a number does not compile without an output schema", () => {
    // @ts-expect-error: text, blocks or an object.
    server().tool("t", {}, () => 7);
  });
});

describe("types of structured content", () => {
  test("an array output accepts a list of its members", () => {
    server().tool("t", { output: z.array(z.object({ n: z.number() })) }, () => [{ n: 1 }]);
  });

  test("an array output refuses a list of another type", () => {
    // @ts-expect-error: n is a number.
    server().tool("t", { output: z.array(z.object({ n: z.number() })) }, () => [{ n: "one" }]);
  });
});

describe("types of the context", () => {
  test("ctx.env has the bindings of the server", () => {
    server().tool("t", {}, (_, ctx) => {
      expectTypeOf(ctx.env).toEqualTypeOf<Env>();
      return "x";
    });
  });

  test("ctx.env is unknown if no bindings are declared", () => {
    new McpServer({ name: "s", version: "1.0.0" }).tool("t", {}, (_, ctx) => {
      expectTypeOf(ctx.env).toBeUnknown();
      return "x";
    });
  });

  test("ctx.signal is an AbortSignal", () => {
    server().tool("t", {}, (_, ctx) => {
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
      return "x";
    });
  });

  test("defineTool infers arguments like server.tool", () => {
    const tool = defineTool("t", { input: z.object({ a: z.number().default(1) }) }, (args, ctx) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number }>();
      expectTypeOf(ctx).toEqualTypeOf<HandlerContext<unknown>>();
      return "x";
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<unknown>>();
  });

  test("defineTool takes its bindings from the annotated context", () => {
    const tool = defineTool("t", { input: z.object({ a: z.number() }) }, (args, ctx: HandlerContext<Env>) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number }>();
      return ctx.env.API_KEY;
    });
    expectTypeOf(tool).toEqualTypeOf<ToolDefinition<Env>>();
  });

  test("a tool that needs no bindings can be added to a server with bindings", () => {
    const tool = defineTool("t", {}, () => "x");
    expect(server().add(tool)[REGISTRY].tools.size).toBe(1);
    expect(new McpServer<Env>({ name: "s", version: "1.0.0", tools: [tool] })[REGISTRY].tools.size).toBe(1);
  });

  test("a tool that needs bindings cannot be added to a server without them", () => {
    const tool = defineTool("t", {}, (_, ctx: HandlerContext<Env>) => ctx.env.API_KEY);
    // @ts-expect-error: this server has other bindings.
    new McpServer<{ OTHER: number }>({ name: "s", version: "1.0.0" }).add(tool);
  });

  test("defineTool refuses a return value of another type than the output schema", () => {
    // @ts-expect-error: n is a number.
    defineTool("t", { output: z.object({ n: z.number() }) }, () => ({ n: "one" }));
  });
});

describe("types of annotations", () => {
  test("a hint of another type does not compile", () => {
    // @ts-expect-error: hints are booleans.
    server().tool("t", { annotations: { readOnlyHint: "yes" } }, () => "x");
  });

  test("the hints are the four of the specification and a title", () => {
    expectTypeOf<keyof NonNullable<ToolOptions["annotations"]>>().toEqualTypeOf<
      "title" | "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint"
    >();
  });
});

describe("types of time limits", () => {
  test("timeoutMs is an optional number", () => {
    expectTypeOf<ToolOptions["timeoutMs"]>().toEqualTypeOf<number | undefined>();
  });
});

describe("types of a completer's context", () => {
  const typed = z.object({ city: z.string() });

  test("a completer's context has the bindings of the server, with typed arguments and with a list", () => {
    const completing = {
      city: (value: string, chosen: { readonly [name: string]: string }, ctx: HandlerContext<Env>) => {
        return [ctx.env.API_KEY, value, ...Object.keys(chosen)];
      },
    };
    server()
      .prompt("inline", { arguments: typed, complete: { city: (_, __, ctx) => [ctx.env.API_KEY] } }, ({ city }) => {
        expectTypeOf(city).toEqualTypeOf<string>();
        return city;
      })
      .prompt("list", { arguments: [{ name: "city" }], complete: completing }, (_, ctx) => ctx.env.API_KEY)
      .resourceTemplate(
        "weather://{city}",
        {
          complete: {
            city: (_, __, ctx) => {
              expectTypeOf(ctx.env).toEqualTypeOf<Env>();
              return [];
            },
          },
        },
        (_, __, ctx) => ctx.env.API_KEY,
      );
  });

  test("without declared bindings a completer's env is unknown", () => {
    const complete = {
      city: (_: string, __: object, ctx: HandlerContext) => {
        expectTypeOf(ctx.env).toBeUnknown();
        return [];
      },
    };
    const bare = new McpServer({ name: "s", version: "1.0.0" });
    bare.prompt("p", { arguments: typed, complete }, () => "x");
    // A completer that needs no bindings can be used in a server with bindings.
    server().prompt("p", { arguments: typed, complete }, () => "x");
  });

  test("definePrompt and defineResourceTemplate infer their bindings from a completer, too", () => {
    const complete = { city: (_: string, __: object, ctx: HandlerContext<Env>) => [ctx.env.API_KEY] };
    const prompt = definePrompt("p", { arguments: typed, complete }, () => "x");
    expectTypeOf(prompt).toEqualTypeOf<PromptDefinition<Env>>();
    const template = defineResourceTemplate("weather://{city}", { complete }, () => "x");
    expectTypeOf(template).toEqualTypeOf<ResourceTemplateDefinition<Env>>();
    expect(server().add(prompt).add(template)[REGISTRY].prompts.size).toBe(1);
    const other = new McpServer<{ OTHER: number }>({ name: "s", version: "1.0.0" });
    // @ts-expect-error: this server has other bindings.
    other.add(prompt);
    // @ts-expect-error: this server has other bindings.
    other.add(template);
  });

  test("a completer for other bindings, or that does not return strings, does not compile", () => {
    const complete = { city: (_: string, __: object, ctx: HandlerContext<{ OTHER: number }>) => [`${ctx.env.OTHER}`] };
    // @ts-expect-error: this server has other bindings.
    server().prompt("p", { arguments: typed, complete }, () => "x");
    // @ts-expect-error: suggestions are strings.
    server().resourceTemplate("weather://{city}", { complete: { city: () => [1] } }, () => "x");
  });
});

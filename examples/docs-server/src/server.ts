/** The server: two tools, a resource for each page, and two prompts. It only reads, and the same for everyone. */
import { McpServer, ToolError } from "mcp-edge";
import { cleanText, markAsData } from "mcp-edge/safe";
import * as z from "zod";
import { documents } from "./documents.ts";
import { type Found, Library, SCHEME, textOf, uriOf } from "./library.ts";
import { Search } from "./search.ts";

const library = new Library(documents);
const search = new Search(documents);

/** The most that one call of `read` returns. */
const READ_CHARACTERS_MAX = 20_000;
const QUERY_CHARACTERS_MAX = 500;
const NAME_CHARACTERS_MAX = 200;

/** No caller changes anything, and the documents are part of the server, so hosts need not ask their users. */
const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** The results change only with a deployment, and are the same for all callers. */
const cache = { ttlMs: 3_600_000, cacheScope: "public" } as const;

export const server = new McpServer({
  name: "docs-server",
  title: "Documents of mcp-edge",
  version: "1.0.0",
  instructions:
    "The documents of mcp-edge, a kit for MCP servers on Cloudflare Workers. Search before you write code, and read the sections that you find. Begin with for-agents.",
  cacheHints: {
    "server/discover": cache,
    "tools/list": cache,
    "prompts/list": cache,
    "resources/list": cache,
    "resources/templates/list": cache,
    "resources/read": cache,
  },
});

server.tool(
  "search",
  {
    title: "Search the documents",
    description:
      "Finds sections of the documents by words, the best first. Names of the API, such as createSafeFetch, are found too. Read a result with the tool read.",
    annotations,
    input: z.object({
      query: z.string().min(1).max(QUERY_CHARACTERS_MAX).describe("A few words, such as: ask the user in a tool"),
      limit: z.number().int().min(1).max(20).default(8).describe("The maximum number of results"),
    }),
    output: z.object({
      results: z.array(
        z.object({
          title: z.string().describe("The title of the page"),
          section: z.string().describe("The heading of the section"),
          uri: z.string().describe("The section, for the tool read"),
          excerpt: z.string(),
        }),
      ),
    }),
  },
  ({ query, limit }) => ({
    results: search.find(query, limit).map(({ page, section, excerpt }) => ({
      title: page.title,
      section: section.heading,
      uri: uriOf({ page, section }),
      excerpt,
    })),
  }),
);

server.tool(
  "read",
  {
    title: "Read a document",
    description: `Returns a page or one of its sections as Markdown, at most ${READ_CHARACTERS_MAX} characters at once.`,
    annotations,
    input: z.object({
      page: z
        .string()
        .max(NAME_CHARACTERS_MAX)
        .describe("The page or section, such as guides/tasks, docs://guides/tasks#cost, or the uri of a search result"),
      offset: z.number().int().min(0).default(0).describe("The character to begin with, to continue a long page"),
    }),
  },
  ({ page: name, offset }) => {
    const text = textOf(findOrExplain(name));
    if (offset > 0 && offset >= text.length) {
      throw new ToolError(`The text has only ${text.length} characters. Choose a smaller offset.`);
    }
    const end = Math.min(text.length, offset + READ_CHARACTERS_MAX);
    const rest = end < text.length ? `\n\n(${text.length - end} more characters: read again with offset ${end}.)` : "";
    return text.slice(offset, end) + rest;
  },
);

/** @throws {ToolError} that names similar pages, or the sections of the page. */
function findOrExplain(name: string): Found {
  const found = library.find(name);
  if (found) return found;
  const shown = JSON.stringify(cleanText(name));
  const [path = ""] = name.split("#");
  const page = library.find(path)?.page;
  if (page) {
    const anchors = page.sections.map(({ anchor }) => anchor).filter((anchor) => anchor !== "");
    throw new ToolError(`${shown} is not a section of ${page.path}. Its sections: ${anchors.slice(0, 30).join(", ")}.`);
  }
  const similar = library.similar(name, 5);
  const hint = similar.length > 0 ? ` Similar pages: ${similar.join(", ")}.` : "";
  throw new ToolError(`There is no page ${shown}.${hint} Find pages with the tool search.`);
}

for (const page of library.pages) {
  const uri = uriOf({ page });
  server.resource(uri, { name: page.path, title: page.title, mimeType: "text/markdown" }, () => textOf({ page }));
}

server.resourceTemplate(
  `${SCHEME}{+path}`,
  {
    name: "page",
    title: "A page of the documents",
    mimeType: "text/markdown",
    complete: { path: (typed) => library.complete(typed) },
  },
  (_, { path }) => {
    const found = library.find(String(path));
    return found && textOf(found);
  },
);

server.prompt(
  "write-tool",
  {
    title: "Write a tool",
    description: "Writes a tool for a server, with a test, from the documents",
    arguments: z.object({ task: z.string().max(2_000).describe("What the tool should do") }),
  },
  ({ task }) =>
    `Write a tool of an MCP server with mcp-edge that does this: ${cleanText(task)}

First call the tool "read" with the page "for-agents". Then call "search" for each feature that the tool needs, such as progress, questions to the user, stored data or requests to other services, and read the sections that you find. Use only names that are in the documents. Write the tool with a description, an input schema with limits, and annotations; throw ToolError for what a model can correct. Then write a test that calls the tool by a client, and run it.`,
);

server.prompt(
  "find-mistake",
  {
    title: "Find a mistake",
    description: "Explains an error or an unexpected behaviour of a server",
    arguments: z.object({ problem: z.string().max(5_000).describe("The message of the error, or what happens") }),
  },
  ({ problem }) =>
    // An error often contains text of a third party, such as a response.
    `A server that uses mcp-edge has a problem. ${markAsData(problem, { source: "its user or its log" })}

Call the tool "search" with the most specific words of the message, and read the sections that you find. Say which document explains the problem, what causes it, and which lines to change.`,
);

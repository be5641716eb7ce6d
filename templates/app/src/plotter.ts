/** The plotter: a tool for the model, a tool that the view can call as well, and the view. */
import { McpServer, ToolError } from "mcp-edge";
import { addFiles } from "mcp-edge/files";
import { imageContent } from "mcp-edge/safe";
import * as z from "zod";
import { type Curve, FORMULA_MAX, FormulaError, parseFormula } from "./formula.ts";
import { drawGraph } from "./image.ts";
import { findZeros, fitRegion, isFit, show } from "./region.ts";
import { VIEW_HTML } from "./view-html.ts";

export const server = new McpServer({
  name: "app",
  title: "Function plotter",
  version: "1.0.0",
  instructions:
    "Plots functions of x. The user can change the formula, drag and zoom, and the model is informed of what is shown.",
});

/** The files that the tools return. No tool takes one. */
export const store = addFiles(server, { uploadTool: false });

const VIEW = "ui://plotter/view.html";
const ZEROS_MAX = 100;

const formula = z
  .string()
  .trim()
  .min(1)
  .max(FORMULA_MAX)
  .describe("A formula of x, such as 2x sin(x^2) or sqrt(1 - x^2)");
const place = z.number().min(-1e8).max(1e8);
const annotations = { readOnlyHint: true, openWorldHint: false };

server.tool(
  "plot",
  {
    title: "Plot a function",
    description: "Draw the graph of a function of x. Some hosts show it as an interactive view.",
    input: z.object({
      formula,
      xMin: place.default(-10).describe("Left end"),
      xMax: place.default(10).describe("Right end"),
    }),
    output: z.object({
      formula: z.string(),
      region: z.object({ xMin: z.number(), xMax: z.number(), yMin: z.number(), yMax: z.number() }),
    }),
    annotations,
    // The host reads the view and shows it with the result. The second name is for hosts of versions before 2026-01-26.
    _meta: { ui: { resourceUri: VIEW }, "ui/resourceUri": VIEW },
  },
  async ({ formula, xMin, xMax }) => {
    const curve = read(formula, xMin, xMax);
    const region = fitRegion(curve, xMin, xMax);
    const values = [0, 0.25, 0.5, 0.75, 1].map((at) => xMin + (xMax - xMin) * at);
    const text = [
      `y = ${formula} for x from ${show(xMin)} to ${show(xMax)}`,
      ...values.map((x) => `x = ${show(x)}: y = ${show(curve(x))}`),
    ].join("\n");
    // Text for the model, an image for hosts without views, and data for the view.
    return {
      content: [{ type: "text", text }, imageContent(await drawGraph(curve, region))],
      structuredContent: { formula, region },
    };
  },
);

server.tool(
  "find_zeros",
  {
    title: "Find zeros",
    description: "Find where a function of x crosses zero",
    input: z.object({ formula, xMin: place, xMax: place }),
    output: z.object({ zeros: z.array(z.number()), isComplete: z.boolean() }),
    annotations,
    // Both the model and the view can call this tool.
    _meta: { ui: { visibility: ["model", "app"] } },
  },
  ({ formula, xMin, xMax }) => {
    const zeros = findZeros(read(formula, xMin, xMax), xMin, xMax, ZEROS_MAX);
    return { zeros, isComplete: zeros.length < ZEROS_MAX };
  },
);

server.tool(
  "save_plot",
  {
    title: "Save a plot",
    description: "Return a link to the graph of a function of x, as a PNG file that the user can download",
    input: z.object({ formula, xMin: place.default(-10), xMax: place.default(10) }),
    annotations,
  },
  async ({ formula, xMin, xMax }, ctx) => {
    const curve = read(formula, xMin, xMax);
    const body = await drawGraph(curve, fitRegion(curve, xMin, xMax));
    return store.create({ name: "plot.png", type: "image/png", body, description: `y = ${formula}` }, ctx);
  },
);

server.resource(
  VIEW,
  {
    name: "plotter",
    title: "Function plotter",
    mimeType: "text/html;profile=mcp-app",
    // The page is self-contained, so it does not need access to other hosts, or permissions.
    _meta: { ui: { prefersBorder: true } },
  },
  () => ({ text: VIEW_HTML, _meta: { ui: { prefersBorder: true } } }),
);

/** Validates the range, and parses the formula. @throws {ToolError} with a message for the model. */
function read(formula: string, xMin: number, xMax: number): Curve {
  if (!isFit(xMax - xMin)) throw new ToolError("xMax must be greater than xMin by at least 0.000001.");
  try {
    return parseFormula(formula);
  } catch (error) {
    if (error instanceof FormulaError) throw new ToolError(error.message);
    throw error;
  }
}

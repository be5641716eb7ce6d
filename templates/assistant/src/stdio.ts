/** The shop assistant over standard input and output, for clients that start it as a process. */
import { homedir } from "node:os";
import { join } from "node:path";
import { serveStdio } from "mcp-edge/node";
import { basketsIn } from "./basket-files.ts";
import { server } from "./shop.ts";

const { BASKETS_FOLDER = join(homedir(), ".assistant-baskets"), PAYMENTS_URL = "", PAYMENTS_KEY = "" } = process.env;

await serveStdio(server, { env: { BASKETS: basketsIn(BASKETS_FOLDER), PAYMENTS_URL, PAYMENTS_KEY } });

import { Hono } from "hono";
import { edge } from "../../../src/worker/index.ts";
import { createServer, FLAWS } from "./fixtures.ts";

const app = new Hono();
for (const flaw of FLAWS) app.route(`/${flaw}`, edge(createServer(flaw, { directoryRead: true })));
app.route("/no-folders", edge(createServer("none", {})));

export default app;

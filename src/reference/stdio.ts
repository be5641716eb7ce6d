/**
 * The reference server over stdio: `npm run --silent stdio`.
 *
 * @module
 */
import { serveStdio } from "../node/index.ts";
import { createReferenceServer } from "./server.ts";

await serveStdio(createReferenceServer());

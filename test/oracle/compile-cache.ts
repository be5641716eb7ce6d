/**
 * Turns on {@link COMPILE_CACHE}. Hosts pass only a few environment variables to the servers that they start, so such a server imports this
 * file first, and its other modules with `await import()`. A program that is started with {@link CACHED} needs no change.
 */
import { enableCompileCache } from "node:module";
import { COMPILE_CACHE } from "./node.ts";

enableCompileCache(COMPILE_CACHE);

/**
 * Turns on {@link COMPILE_CACHE} in a program that does not get the variable: hosts give the servers that they start only a few. Such a
 * program imports its other modules after this one, with `await import()`.
 */
import { enableCompileCache } from "node:module";
import { COMPILE_CACHE } from "./node.ts";

enableCompileCache(COMPILE_CACHE);

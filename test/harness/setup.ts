/** Runs before each test file. */
import { policeLogs } from "./logs.ts";

policeLogs();

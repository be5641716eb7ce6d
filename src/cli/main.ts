/**
 * The entry of the command line.
 *
 * @module
 */
import { runDev } from "./commands/dev.ts";
import { run } from "./program.ts";

// Another program that stops reading, such as `head`, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

const [command, ...rest] = process.argv.slice(2);
// `dev` passes every option except --path to wrangler, including --help.
const code = command === "dev" ? await runDev(rest) : await run(process.argv.slice(2));
// What a server left open, such as an idle connection, must not keep the process alive.
process.stdout.write("", () => process.exit(code));

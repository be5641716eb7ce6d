import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliCommand } from "../../command.ts";
import { HOST_NAMES, type HostName } from "../../host-profiles/profile.ts";
import { addConnectionOptions, SERVER } from "../../server/options.ts";
import type { DoctorOptions } from "./options.ts";

/** `mcp-edge doctor`: finds out why hosts cannot use a server. */
export const doctor: CliCommand = {
  name: "doctor",
  takesServer: true,
  define: (command: Command) =>
    addConnectionOptions(command, ["json", "header", "env", "timeout", "yes"])
      .description("connect as well-known hosts do, and print what breaks, whose fault it is, and what to change")
      .argument(...SERVER)
      .addOption(
        new Option("--host <name>", "only check this host (repeatable)").choices(HOST_NAMES).argParser(readHost),
      )
      .option("--origin <origin>", "also check that a web page of this origin can call the server", readOrigin)
      .option("--call <tool>", "also call this tool, without arguments; otherwise no tool is called")
      .action(async (server: string, options: DoctorOptions) => {
        const { diagnoseServer } = await import("./doctor.ts");
        process.exitCode = await diagnoseServer(server, options);
      }),
};

/** Collects the values of `--host`. */
function readHost(value: string, before: readonly HostName[] = []): HostName[] {
  const host = HOST_NAMES.find((name) => name === value);
  if (host === undefined) throw new InvalidArgumentError(`Allowed choices are ${HOST_NAMES.join(", ")}.`);
  return before.includes(host) ? [...before] : [...before, host];
}

/** Returns the origin as browsers send it. */
function readOrigin(value: string): string {
  const { protocol = "", origin = "" } = URL.canParse(value) ? new URL(value) : {};
  if (!/^https?:$/.test(protocol)) throw new InvalidArgumentError("Write it as https://app.example.com.");
  return origin;
}

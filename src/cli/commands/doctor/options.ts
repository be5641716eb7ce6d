import type { HostName } from "../../host-profiles/profile.ts";
import type { ConnectionOptions } from "../../server/options.ts";

/** The options of `doctor`. */
export interface DoctorOptions extends ConnectionOptions {
  /** The hosts to connect as; by default all of them. */
  readonly host?: readonly HostName[];
  /** The origin of a web page that should be able to call the server. */
  readonly origin?: string;
  /** A tool to call without arguments. Without this option, no tool is called. */
  readonly call?: string;
}

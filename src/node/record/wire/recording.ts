/**
 * What `mcp-edge record` has in common for servers over HTTP and stdio: the recorder, its page, and the file at the end.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import type { RecorderInfo } from "../../../recorder/api.ts";
import { Recorder } from "../../../recorder/recorder.ts";
import { toRecording } from "../../../recorder/recording/file.ts";
import { createHash } from "../hash.ts";
import { printLines } from "../line.ts";
import { createOutputCheck } from "../output-check.ts";
import { packageVersion } from "../package-version.ts";
import { recordingRoutes } from "../recording-routes.ts";
import type { RouteOptions } from "../routes.ts";

/** What the user has chosen. */
export interface WireOptions {
  /** The port of this machine at which clients connect, or at which the page is. 0 is any free one. */
  readonly port: number;
  readonly contents: boolean;
  /** The file that the recording is written to at the end. */
  readonly out: string | undefined;
  /** Prints a line for each exchange. */
  readonly print: (line: string) => void;
}

/** A recording of what passes between clients and a server. */
export class WireRecording {
  readonly recorder: Recorder;
  readonly #options: WireOptions;
  readonly #stopLines: () => void;
  /** The URL at which clients reach the server through the proxy. Empty over stdio. */
  endpointUrl = "";

  constructor(options: WireOptions, endpointPath: string) {
    const { contents, print } = options;
    this.#options = options;
    this.recorder = new Recorder({ contents, endpointPath, hash: createHash(), checkOutput: createOutputCheck() });
    this.#stopLines = printLines(this.recorder, print, { hasTail: false });
  }

  get info(): RecorderInfo {
    const { endpointUrl: url, recorder } = this;
    return {
      mode: "record",
      endpoint: { url, path: url === "" ? "" : new URL(url).pathname },
      ...(recorder.server ? { server: recorder.server } : {}),
      contents: this.#options.contents,
      faults: false,
      version: packageVersion(),
    };
  }

  /** Returns the routes of the page. @param cut Cuts the connection of an entry. */
  routes(cut: (entryId: string) => boolean): RouteOptions {
    const info = () => this.info;
    return {
      ...recordingRoutes(this.recorder, info, () => {
        return this.endpointUrl === "" ? undefined : { kind: "url", url: this.endpointUrl };
      }),
      info,
      objects: async () => [],
      causeFault: async ({ kind, entry }) => {
        if (kind !== "cut")
          return { done: false, text: "Only connections can be cut: what happens inside of this server is not seen." };
        const done = entry !== undefined && cut(entry);
        return { done, text: done ? "The connection was reset." : "The entry is not running." };
      },
    };
  }

  /** Ends the recording. Returns the number of entries if they were written to a file. */
  end(): number | undefined {
    this.#stopLines();
    const { out } = this.#options;
    if (out === undefined) return undefined;
    const recording = toRecording(this.recorder.entries(), this.info, Date.now());
    // Not for others on this machine: with contents, it contains what was said.
    writeFileSync(out, `${JSON.stringify(recording)}\n`, { mode: 0o600 });
    return recording.entries.length;
  }
}

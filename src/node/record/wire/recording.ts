/**
 * The parts of `mcp-edge record` that HTTP and stdio servers share: the recorder, its page, and the recording file.
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

/** The options of a recording. */
export interface WireOptions {
  /** The local port of the proxy or, for stdio servers, of the page. 0 chooses a free port. */
  readonly port: number;
  readonly contents: boolean;
  /** The path of the file to which the recording is written when it ends. */
  readonly out: string | undefined;
  /** Prints a line for each exchange. */
  readonly print: (line: string) => void;
}

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

  /** Returns the options of the routes. @param cut Resets the connection of an entry. Returns false if it is not running. */
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
          return { done: false, text: "Only connections can be cut, because this server is only seen from outside." };
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
    // Only the user may read the file, because it can contain the contents of messages.
    writeFileSync(out, `${JSON.stringify(recording)}\n`, { mode: 0o600 });
    return recording.entries.length;
  }
}

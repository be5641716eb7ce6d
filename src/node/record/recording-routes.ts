/**
 * The routes that all recordings share: export, import, comparison and copies.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { Copied, ImportResult, RecorderInfo } from "../../recorder/api.ts";
import type { Entry } from "../../recorder/entry.ts";
import type { Recorder } from "../../recorder/recorder.ts";
import { compareEntries } from "../../recorder/recording/compare.ts";
import { copyAsCurl } from "../../recorder/recording/curl.ts";
import { parseRecording, toRecording } from "../../recorder/recording/file.ts";
import { copyAsTest, type TestedServer } from "../../recorder/recording/test-file.ts";
import type { RouteOptions } from "./routes.ts";

/** The maximum number of entries on each side of a comparison. */
const COMPARED_MAX = 2_000;

/** The options for the routes of a recording, apart from the options that depend on the recorded server. */
export type RecordingRoutes = Omit<RouteOptions, "objects" | "causeFault" | "info">;

/** Returns the options. @param server Returns the server that a copied test uses. Undefined if tests cannot reach it. */
export function recordingRoutes(
  recorder: Recorder,
  info: () => RecorderInfo,
  server: () => TestedServer | undefined,
): RecordingRoutes {
  const find = (id: string) => recorder.entry(id);
  const copied = (id: string, copy: (entry: Entry) => Copied) => {
    const entry = find(id);
    return entry && copy(entry);
  };
  const writeTest = (entry: Entry): Copied => {
    const tested = server();
    if (!tested) return { problem: "Only exchanges with a server that has a URL can be copied as tests." };
    return copyAsTest(entry, { server: tested, path: info().endpoint.path, find });
  };
  return {
    recorder,
    copyAsCurl: (id) => copied(id, (entry) => copyAsCurl(entry, originOf(info()))),
    copyAsTest: (id) => copied(id, writeTest),
    exportRecording: () => toRecording(recorder.entries(), info(), Date.now()),
    importRecording(file): ImportResult {
      const ids = recorder.import(parseRecording(file));
      const [firstId, lastId] = [ids[0], ids.at(-1)];
      return {
        entries: ids.length,
        ...(firstId === undefined ? {} : { firstId }),
        ...(lastId === undefined ? {} : { lastId }),
      };
    },
    compare(request) {
      const { a, b } = isObject(request) ? request : {};
      return compareEntries(findAll(a, find), findAll(b, find));
    },
  };
}

function originOf({ endpoint }: RecorderInfo): string {
  return URL.canParse(endpoint.url) ? new URL(endpoint.url).origin : "";
}

/** @throws {Error} if an entry does not exist. */
function findAll(ids: unknown, find: (id: string) => Entry | undefined): readonly Entry[] {
  const all = Array.isArray(ids) ? ids : [ids];
  if (all.length === 0 || all.length > COMPARED_MAX) throw new Error(`Compare 1 to ${COMPARED_MAX} entries.`);
  return all.map((id: unknown) => {
    const found = typeof id === "string" ? find(id) : undefined;
    if (!found) throw new Error(`There is no entry ${JSON.stringify(id)}.`);
    return found;
  });
}

/**
 * The client of the recorder's routes, which `mcp-edge dev` serves at the origin of the endpoint.
 *
 * @module
 */
import {
  type CompareRequest,
  type Comparison,
  type Copied,
  DEV_HEADER,
  type FaultRequest,
  type FaultResult,
  type ImportResult,
  type ObjectState,
  type RecorderInfo,
} from "../../recorder/api.ts";
import type { Entry, Summary } from "../../recorder/entry.ts";

/** The base URL of the routes, relative to the page. */
const API = new URL("api/", location.href);

async function request<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(new URL(path, API), init);
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new Error(problemOf(text) ?? `${path}: HTTP ${response.status}.`);
}

/** Returns the reason in an error response, which is the `problem` of a JSON body, or short text. */
function problemOf(text: string): string | undefined {
  try {
    const { problem } = JSON.parse(text) as { problem?: string };
    return problem;
  } catch {
    return text.length > 0 && text.length < 500 ? text : undefined;
  }
}

/** Sends a state-changing request. Its header cannot be sent by a form on another site. */
function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { [DEV_HEADER]: "1", "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export const getInfo = (): Promise<RecorderInfo> => request("info");
export const getEntries = (after: number): Promise<readonly Summary[]> => request(`entries?after=${after}`);
export const getEntry = (id: string): Promise<Entry> => request(`entries/${id}`);
export const getObjects = (): Promise<readonly ObjectState[]> => request("objects");
export const cause = (fault: FaultRequest): Promise<FaultResult> => post("faults", fault);
export const clear = (): Promise<void> => post("clear", {});
export const importRecording = (file: unknown): Promise<ImportResult> => post("recording", file);
export const compare = (pair: CompareRequest): Promise<Comparison> => post("compare", pair);

/** The URL of the recording file. */
export const recordingUrl: string = new URL("recording", API).href;

/** Returns the text of "copy as curl" or "copy as test". @throws {Error} with the reason why the entry cannot be copied. */
export async function getCopied(id: string, form: "curl" | "test"): Promise<string> {
  const copied = await request<Copied>(`entries/${id}/${form}`);
  if ("problem" in copied) throw new Error(copied.problem);
  return copied.text;
}

/** Receives the changes that the recorder reports. */
export interface Watcher {
  onSummary(summary: Summary): void;
  /** All entries were removed. */
  onClear(): void;
  onState(isOpen: boolean): void;
}

/** Opens the stream of changes. Returns a function that closes it. */
export function watch({ onSummary, onClear, onState }: Watcher): () => void {
  const source = new EventSource(new URL("events", API));
  source.addEventListener("clear", onClear);
  source.addEventListener("summary", ({ data }) => onSummary(JSON.parse(data) as Summary));
  source.addEventListener("open", () => onState(true));
  source.addEventListener("error", () => onState(false));
  return () => source.close();
}

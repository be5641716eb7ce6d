/**
 * The routes of the recorder, which `mcp-edge dev` serves beside the endpoint.
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

/** The routes are beside the page. */
const API = new URL("api/", location.href);

async function request<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await fetch(new URL(path, API), init);
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new Error(problemOf(text) ?? `${path} answers ${response.status}.`);
}

/** Refusals are JSON with a `problem`, or text. */
function problemOf(text: string): string | undefined {
  try {
    const { problem } = JSON.parse(text) as { problem?: string };
    return problem;
  } catch {
    return text.length > 0 && text.length < 500 ? text : undefined;
  }
}

/** Every request that changes something has the header that no form of another site can send. */
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

/** The address of the recording as a file. */
export const recordingUrl: string = new URL("recording", API).href;

/** Returns the text of "copy as curl" or "copy as test". @throws {Error} with the reason why there is none. */
export async function getCopied(id: string, form: "curl" | "test"): Promise<string> {
  const copied = await request<Copied>(`entries/${id}/${form}`);
  if ("problem" in copied) throw new Error(copied.problem);
  return copied.text;
}

/** Receives what the recorder reports. */
export interface Watcher {
  onSummary(summary: Summary): void;
  /** All entries were removed. */
  onClear(): void;
  onState(isOpen: boolean): void;
}

/** Opens the stream of entries as they begin, change and end. Returns a function that closes it. */
export function watch({ onSummary, onClear, onState }: Watcher): () => void {
  const source = new EventSource(new URL("events", API));
  source.addEventListener("clear", onClear);
  source.addEventListener("summary", ({ data }) => onSummary(JSON.parse(data) as Summary));
  source.addEventListener("open", () => onState(true));
  source.addEventListener("error", () => onState(false));
  return () => source.close();
}

/**
 * Stores the content of an upload, or of a file that a handler returns. Either the whole content is stored, or nothing.
 *
 * @module
 */
import { type ContentFacts, ContentReader, HEAD_MAX, readFacts } from "../../files/content-facts.ts";
import { unavailable } from "../bindings.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import { BodyReader, CHUNK_BYTES } from "./body-reader.ts";
import { listAnonymousOwners } from "./links.ts";
import {
  ANONYMOUS_RECEIVING_MAX,
  type Incoming,
  type Outcome,
  OWN_RECEIVING_MAX,
  objectOf,
  type Place,
  RECEIVING_MAX,
  SMALL_BYTES_MAX,
  SMALL_MS,
} from "./place.ts";

/** How much longer a reservation lasts, and a small file is counted, than its upload may take, in milliseconds. */
const MARGIN_MS = 60_000;

/** Stores content: small content in the object of its owner, larger content in the bucket. Rejects only for faults of the platform. */
export function receive(place: Place, incoming: Incoming, env: unknown): Promise<Outcome> {
  return incoming.bytes <= SMALL_BYTES_MAX ? receiveSmall(place, incoming, env) : receiveLarge(place, incoming, env);
}

async function receiveSmall(place: Place, incoming: Incoming, env: unknown): Promise<Outcome> {
  const { receiving, settings } = place;
  const { owner, id, bytes, body, idleMs } = incoming;
  const anonymous = await listAnonymousOwners();
  // A client could otherwise fill the memory with uploads that it never ends.
  const nowMs = Date.now();
  for (const [each, { untilMs }] of receiving) if (untilMs <= nowMs) receiving.delete(each);
  if (receiving.has(id)) return { kind: "busy" };
  const owners = [...receiving.values()].map((each) => each.owner);
  if (isFull(owners, owner, anonymous)) return { kind: "overloaded" };
  const counted = { owner, untilMs: nowMs + SMALL_MS + MARGIN_MS };
  receiving.set(id, counted);
  const reader = new BodyReader(body, Math.min(settings.uploadMs, SMALL_MS), idleMs);
  try {
    const content = await readExactly(reader, bytes);
    return content ? await storeSmall(place, incoming, content, env) : cutOff(reader);
  } finally {
    reader.end();
    if (receiving.get(id) === counted) receiving.delete(id);
  }
}

/** Whether the isolate receives as many small files as it may, from all callers, this one, or those without a principal. */
function isFull(owners: readonly string[], owner: string, anonymous: readonly string[]): boolean {
  const isAnonymous = (each: string) => anonymous.includes(each);
  return (
    owners.length >= RECEIVING_MAX ||
    owners.filter((each) => each === owner).length >= OWN_RECEIVING_MAX ||
    (isAnonymous(owner) && owners.filter(isAnonymous).length >= ANONYMOUS_RECEIVING_MAX)
  );
}

async function storeSmall(
  place: Place,
  incoming: Incoming,
  content: Uint8Array<ArrayBuffer>,
  env: unknown,
): Promise<Outcome> {
  const { owner, id, bytes, linkUntilMs } = incoming;
  const facts = readFacts(content);
  const judged = incoming.judge(facts);
  if ("problem" in judged) return { kind: "refused", problem: judged.problem };
  const details = { ...judged, bytes, facts };
  // The object recognises a repetition.
  const stored = await retryOnReset(() =>
    place.objects.call(objectOf(place, owner, env), "store", id, details, content, linkUntilMs),
  );
  return stored === "ok" ? { kind: "stored", ...judged } : { kind: stored };
}

async function receiveLarge(place: Place, incoming: Incoming, env: unknown): Promise<Outcome> {
  const { settings } = place;
  const { body, bytes, idleMs, restMax } = incoming;
  const bucket = settings.bucket(env);
  if (!bucket) return { kind: "no-bucket" };
  const reader = new BodyReader(body, settings.uploadMs, idleMs);
  try {
    const facts = new ContentReader();
    const head = await readHead(reader, facts);
    const judged = incoming.judge(facts.peek());
    const isRefused = head && "problem" in judged;
    const begin = () => (head ? storeLarge(place, incoming, { bucket, reader, facts, head, env }) : cutOff(reader));
    const outcome: Outcome = isRefused ? { kind: "refused", problem: judged.problem } : await begin();
    if (outcome.kind !== "stored" && bytes <= restMax) await reader.readRest();
    return outcome;
  } finally {
    reader.end();
  }
}

/** Reads the chunks that show the format of the content. Returns copies of them, or undefined if the content ends before. */
async function readHead(reader: BodyReader, facts: ContentReader): Promise<readonly Uint8Array[] | undefined> {
  const chunks: Uint8Array[] = [];
  for (let bytes = 0; bytes < HEAD_MAX; ) {
    const chunk = await reader.next().catch(() => undefined);
    if (!chunk) return undefined;
    facts.push(chunk);
    chunks.push(chunk.slice());
    bytes += chunk.length;
  }
  return chunks;
}

function cutOff({ isLate }: BodyReader): Outcome {
  return { kind: isLate ? "slow" : "interrupted" };
}

/** Large content, of which the first chunks have been read. */
interface Begun {
  readonly bucket: R2Bucket;
  readonly reader: BodyReader;
  readonly facts: ContentReader;
  readonly head: readonly Uint8Array[];
  readonly env: unknown;
}

async function storeLarge(place: Place, incoming: Incoming, begun: Begun): Promise<Outcome> {
  const { settings, objects } = place;
  const { owner, id, bytes, linkUntilMs } = incoming;
  const { bucket, reader, env } = begun;
  // A reset breaks a stub, so each call has its own.
  const object = () => objectOf(place, owner, env);
  // Each attempt has its own key, so that attempts cannot replace what another one has stored.
  const key = `${owner}/${id}/${crypto.randomUUID()}`;
  const untilMs = Date.now() + settings.uploadMs + MARGIN_MS;
  const reserved = await retryOnReset(() =>
    objects.call(object(), "reserve", id, { bytes, key, untilMs, linkUntilMs }),
  );
  if (reserved !== "ok") return { kind: reserved };
  let outcome: Outcome | undefined = { kind: "interrupted" };
  try {
    const facts = await putInto(bucket, key, bytes, begun);
    const judged = facts && incoming.judge(facts);
    if (!facts || !judged) {
      outcome = cutOff(reader);
      return outcome;
    }
    if ("problem" in judged) {
      outcome = { kind: "refused", problem: judged.problem };
      return outcome;
    }
    // If no answer arrives, the file may be stored. So the content is left to the object, whose alarm deletes it.
    outcome = undefined;
    const commit = () => objects.call(object(), "commit", id, key, { ...judged, bytes, facts });
    const isCommitted = await commit().catch(commit);
    outcome = isCommitted ? { kind: "stored", ...judged } : { kind: "slow" };
    return outcome;
  } finally {
    if (outcome && outcome.kind !== "stored") {
      const release = bucket.delete(key).then(() => objects.call(object(), "release", id, key));
      // If this fails, the alarm of the object deletes both.
      await release.catch(() => undefined);
    }
  }
}

/**
 * Streams content into the bucket. Returns what it shows, or undefined if it was cut off, too slow, or has another length.
 *
 * @throws {McpError} that asks the client to try again, if the bucket has failed.
 */
async function putInto(
  bucket: R2Bucket,
  key: string,
  bytes: number,
  { reader, facts, head }: Begun,
): Promise<ContentFacts | undefined> {
  // The bucket needs to know the length. The stream fails if the content is shorter or longer.
  const { readable, writable } = new FixedLengthStream(bytes);
  const writer = writable.getWriter();
  const abort = (error: unknown) => writer.abort(error).catch(() => undefined);
  // The bucket may also have stopped reading.
  reader.late.addEventListener("abort", () => void abort(reader.late.reason));
  let [left, isCut] = [bytes, false];
  const write = (chunk: Uint8Array) => {
    left -= chunk.length;
    isCut ||= left < 0;
    return writer.write(chunk);
  };
  const next = () =>
    reader.next().catch((error: unknown) => {
      isCut = true;
      throw error;
    });
  const send = async (): Promise<void> => {
    for (const chunk of head) await write(chunk);
    for (let chunk = await next(); chunk; chunk = await next()) {
      facts.push(chunk);
      await write(chunk);
    }
    isCut ||= left > 0;
    await writer.close();
  };
  const sending = send().catch(async (error: unknown) => {
    await abort(error);
    throw error;
  });
  const storing = bucket.put(key, readable);
  // A bucket that fails may leave the content unread.
  storing.catch(abort);
  // Both are awaited, so that nothing is written after this function has returned.
  const [sent, stored] = await Promise.allSettled([sending, storing]);
  // The content was as it should be, so the bucket has failed.
  if (stored.status === "rejected" && !isCut && !reader.isLate) throw unavailable(stored.reason);
  const isWhole = sent.status === "fulfilled" && stored.status === "fulfilled" && stored.value?.size === bytes;
  return isWhole ? facts.end() : undefined;
}

/** Returns all bytes of a body; undefined if it has another length, is cut off, or takes too long. */
async function readExactly(reader: BodyReader, bytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  // It grows with what has arrived. Chunks are copied, because the next chunk has the same buffer, and because each of a million
  // small chunks would take memory of its own.
  let whole = new Uint8Array(Math.min(bytes, CHUNK_BYTES));
  let length = 0;
  try {
    for (let chunk = await reader.next(); chunk; chunk = await reader.next()) {
      const end = length + chunk.length;
      if (end > bytes) return undefined;
      if (end > whole.length) {
        const larger = new Uint8Array(Math.min(bytes, Math.max(end, 2 * whole.length)));
        larger.set(whole.subarray(0, length));
        whole = larger;
      }
      whole.set(chunk, length);
      length = end;
    }
  } catch {
    return undefined;
  }
  return length === bytes ? whole : undefined;
}

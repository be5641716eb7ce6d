/**
 * The files of handlers in a Worker.
 *
 * @module
 */

import { QuestionError } from "../../core/ask/question-errors.ts";
import { encodeText } from "../../core/basics/bytes.ts";
import { pause } from "../../core/basics/pause.ts";
import type { HandlerContext } from "../../core/define/handler-context.ts";
import type { ResourceLink } from "../../core/protocol/content.ts";
import { KitError, ToolError } from "../../core/protocol/errors.ts";
import type { StoreServer } from "../../files/add-files.ts";
import type { FileArgument, FileRules } from "../../files/argument.ts";
import { ARGUMENT_BYTES_MAX } from "../../files/data-url.ts";
import { formatBytes } from "../../files/format-bytes.ts";
import { fitsType, isCheckable } from "../../files/media-types.ts";
import {
  explainUpload,
  type FileBackend,
  type FoundFile,
  type NewFile,
  streamOf,
  type UploadLink,
} from "../../files/store.ts";
import { findOwner, findSealed, isFileId, newFileId, type UploadRules } from "./links.ts";
import { findFile, largestFile, objectOf, type Place, useBucket } from "./place.ts";
import { receive } from "./receive.ts";

/** What a backend needs of its endpoint. */
export interface BackendHost {
  readonly place: Place;
  readonly server: StoreServer;
  /** Whether handlers can ask in the middle of a call in every version. */
  readonly hasReplay: boolean;
  /** Returns the URL of the app that serves the links, without a slash at its end. */
  baseUrl(ctx: HandlerContext): string;
}

/** The first and the longest delay, in milliseconds, before a waiting call looks again for the file that the user uploads. */
const [LOOK_MS, LOOK_LONGEST_MS] = [500, 5_000];

/** The files of an endpoint, in objects and in a bucket. */
export class WorkerFiles implements FileBackend {
  readonly #host: BackendHost;

  constructor(host: BackendHost) {
    this.#host = host;
  }

  async find(reference: string, ctx: HandlerContext, rules: FileRules): Promise<FoundFile> {
    const id = isFileId(reference) ? reference : await this.#idOfUrl(reference, ctx);
    const found = id === undefined ? undefined : await this.#lookUp(id, ctx);
    if (found) return found;
    const why =
      id === undefined
        ? `There is no such file. ${explainReference(reference)}`
        : "There is no such file yet. If the user is still uploading it, call again with the same id. Otherwise:";
    throw new ToolError(`${why} ${explainUpload(await this.#createLink(ctx, rules))}`);
  }

  async ask(argument: FileArgument, ctx: HandlerContext): Promise<FoundFile> {
    const { name, rules } = argument;
    const { hasReplay } = this.#host;
    const create = () => this.#createLink(ctx, rules);
    const canAsk = ctx.client.can("elicitation.url") && (hasReplay || ctx.client.era === "legacy");
    // The step keeps the link if the handler runs again with the answer.
    const link = canAsk && hasReplay ? await ctx.step(`file ${name}`, create) : await create();
    const missing = () => new ToolError(`The argument "${name}" is missing. ${explainUpload(link)}`);
    if (!canAsk) throw missing();
    const what = rules.description ?? `The file for "${name}"`;
    const options = { key: `file ${name}`, elicitationId: link.id };
    const answer = await ctx.elicitUrl(`Upload a file: ${what}`, link.url, options).catch((error: unknown) => {
      throw error instanceof QuestionError ? missing() : error;
    });
    if (answer.action !== "accept") throw new ToolError(`The user has not provided the file for "${name}".`);
    const found = await this.#waitFor(link, ctx);
    if (ctx.client.era === "legacy") this.#host.server.server.elicitationComplete(answer.elicitationId);
    return found;
  }

  async create(file: NewFile, ctx: HandlerContext): Promise<ResourceLink> {
    const { place } = this.#host;
    const { settings, links } = place;
    const { env } = ctx;
    const { name, type } = file;
    const { body, bytes } = measure(file);
    const bytesMax = largestFile(place, env);
    if (bytes > bytesMax) {
      const size = `The result has ${formatBytes(bytes, Math.ceil)}, but the server stores at most ${formatBytes(bytesMax)}.`;
      throw new ToolError(settings.bucket(env) ? size : `${size} Its author can add a bucket for larger files.`);
    }
    const id = newFileId();
    const owner = await findOwner(ctx.auth, id);
    const outcome = await receive(
      place,
      {
        owner,
        id,
        bytes,
        body,
        linkUntilMs: 0,
        idleMs: Infinity,
        restMax: 0,
        judge: (facts) => {
          const isFit = !isCheckable(type) || fitsType(type, facts);
          return isFit ? { name, type } : { problem: `the content is not ${type}` };
        },
      },
      env,
    ).catch((error: unknown) => {
      // Its object is full, which a repetition does not change.
      if (/_FULL/.test(String((error as Error).cause))) return { kind: "full" } as const;
      throw error;
    });
    if (outcome.kind === "full")
      throw new ToolError("There is no room for another file. Wait until older files have been deleted.");
    if (outcome.kind === "overloaded") throw new ToolError("The server is storing too many files. Try again in 5 s.");
    if (outcome.kind !== "stored") {
      const why =
        outcome.kind === "refused"
          ? outcome.problem
          : "the stream ended early, was longer than bytes, was too slow, or has chunks that are not a Uint8Array";
      throw new KitError("options-invalid", `store.create(): the file was not stored: ${why}.`);
    }
    const untilMs = Date.now() + settings.ttlMs;
    const sealed = await links.seal({ kind: "download", owner, id, untilMs }, env);
    const uri = `${this.#host.baseUrl(ctx)}${settings.path}/${sealed}/${encodeURIComponent(name)}`;
    const description = [file.description, `The link works until ${new Date(untilMs).toISOString()}.`];
    return {
      type: "resource_link",
      uri,
      name,
      mimeType: type,
      size: bytes,
      description: description.filter((part) => part !== undefined).join(" "),
    };
  }

  link = (ctx: HandlerContext, rules: UploadRules = {}): Promise<UploadLink> => this.#createLink(ctx, rules);

  async #createLink(ctx: HandlerContext, rules: UploadRules): Promise<UploadLink> {
    const { place } = this.#host;
    const { settings, links } = place;
    const id = newFileId();
    const untilMs = Date.now() + settings.linkMs;
    const { types, bytesMax, description } = rules;
    const owner = await findOwner(ctx.auth, id);
    const sealed = await links.seal({ kind: "upload", owner, id, untilMs, types, bytesMax, description }, ctx.env);
    const url = `${this.#host.baseUrl(ctx)}${settings.path}/${sealed}/`;
    return { id, url, untilMs, types, bytesMax: Math.min(bytesMax ?? Infinity, largestFile(place, ctx.env)) };
  }

  /** Returns the id in a link of this endpoint that belongs to the caller. No URL is ever requested. */
  async #idOfUrl(reference: string, ctx: HandlerContext): Promise<string | undefined> {
    const { settings, links } = this.#host.place;
    const { sealed } = findSealed(reference, settings.path);
    const link = sealed === "" ? undefined : await links.open(sealed, ctx.env);
    return link && link.owner === (await findOwner(ctx.auth, link.id)) ? link.id : undefined;
  }

  async #lookUp(id: string, ctx: HandlerContext): Promise<FoundFile | undefined> {
    const { place } = this.#host;
    const { env } = ctx;
    const found = await findFile(place, id, ctx.auth, env);
    if (!found) return undefined;
    const { name, type, bytes, facts, key, body, owner } = found;
    const object = () => objectOf(place, owner, env);
    return {
      name,
      type,
      bytes,
      facts,
      open: async () => {
        if (key === undefined) return streamOf(body ?? new Uint8Array(0));
        const stored = await useBucket(async () => place.settings.bucket(env)?.get(key));
        if (!stored) throw new ToolError("The file was deleted. Upload it again.");
        return stored.body;
      },
      delete: () => place.objects.call(object(), "remove", id),
    };
  }

  /** Waits until the user has uploaded a file. */
  async #waitFor({ id }: UploadLink, ctx: HandlerContext): Promise<FoundFile> {
    const endMs = Date.now() + this.#host.place.settings.waitMs;
    for (let [delayMs, looks] = [LOOK_MS, 1]; ; delayMs = Math.min(delayMs * 1.5, LOOK_LONGEST_MS), looks += 1) {
      const found = await this.#lookUp(id, ctx);
      if (found) return found;
      ctx.signal.throwIfAborted();
      if (Date.now() >= endMs) {
        const text = `The file has not arrived yet. When the user has uploaded it, call again with "${id}" as the argument.`;
        throw new ToolError(text);
      }
      // Clients that limit the time of a call count from the last progress. The values stay below those of the handler.
      ctx.progress(looks / 1_000, { message: "Waiting for the file" });
      await pause(delayMs, ctx.signal);
    }
  }
}

/** Returns the content of a new file as a stream, and its number of bytes. */
function measure({ body, bytes }: NewFile): { readonly body: ReadableStream<Uint8Array>; readonly bytes: number } {
  const whole = typeof body === "string" ? encodeText(body) : body;
  if (whole instanceof Uint8Array) return { body: streamOf(whole), bytes: whole.length };
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= 0) return { body: whole, bytes };
  throw new KitError(
    "options-invalid",
    "store.create(): the body is a stream; pass its exact number of bytes as `bytes`.",
  );
}

/** Explains why a reference is neither an id nor a link of this endpoint. */
function explainReference(reference: string): string {
  if (reference.startsWith("file_")) return "This is not a complete id.";
  if (/^[a-z][a-z\d+.-]+:/i.test(reference)) return "The server does not fetch URLs.";
  return `The argument takes the id of an uploaded file (file_...), not a path or content. Content of at most ${formatBytes(ARGUMENT_BYTES_MAX)} can be a data: URL in base64.`;
}

/**
 * mcp-edge/safe: helpers for handlers that process values from models, clients and other untrusted sources.
 *
 * @module
 */

export { isPublicAddress } from "../core/basics/addresses.ts";
export type { CacheOptions, ResultCache } from "./cache.ts";
export { createCache } from "./cache.ts";
export type { CleanTextOptions } from "./clean-text.ts";
export { cleanText, mapText } from "./clean-text.ts";
export type { MarkAsDataOptions } from "./data.ts";
export { markAsData } from "./data.ts";
export type { SafeFetch, SafeFetchOptions } from "./fetch.ts";
export { createSafeFetch } from "./fetch.ts";
export type { MediaContentOptions } from "./media.ts";
export { audioContent, checkMediaBytes, detectMediaType, imageContent } from "./media.ts";
export { joinPath, joinUri, resolveUri } from "./paths.ts";
export type { ReadSqlOptions, SqlRows } from "./read-sql.ts";
export { readSql } from "./read-sql.ts";
export type { RefusedReason } from "./refused.ts";
export { RefusedError } from "./refused.ts";
export type { FilterSamplingOptions } from "./sampling.ts";
export { filterSampling } from "./sampling.ts";
export type { D1Like, SqlDatabase, SqlRow, SqlStorageLike, SqlValue } from "./sql.ts";
export { runSql, SqlStatement, sql, sqlName } from "./sql.ts";
export type { TruncateOptions } from "./truncate.ts";
export { truncateResults } from "./truncate.ts";

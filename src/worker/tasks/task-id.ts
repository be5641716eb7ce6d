/**
 * A task id identifies the Durable Object that contains the task. It is the 32 bytes of the object's id in base64url, 43
 * characters. Half of the bytes are random and half are a tag that only the platform can compute, so task ids cannot be
 * guessed and forged ids do not wake any object.
 *
 * @module
 */
import { decodeBase64Url, encodeBase64Url, fromHex, toHex } from "../../core/basics/bytes.ts";

/** Returns the task id of an object. @param objectId 64 hexadecimal digits. */
export function toTaskId(objectId: string): string {
  return encodeBase64Url(fromHex(objectId));
}

/** Returns the object's id, or undefined if the string is not a task id. Each task id has exactly one encoding. */
export function toObjectId(taskId: string): string | undefined {
  const bytes = decodeBase64Url(taskId);
  return bytes?.length === 32 ? toHex(bytes) : undefined;
}

/**
 * What a task id says: which object has the task. The 32 bytes of an object's id, of which half are random and half a
 * tag that only the platform can make, as 43 characters. So ids cannot be guessed, and a forged one wakes no object.
 *
 * @module
 */
import { decodeBase64Url, encodeBase64Url, fromHex, toHex } from "../../core/protocol/bytes.ts";

/** @param objectId 64 hexadecimal digits. */
export function toTaskId(objectId: string): string {
  return encodeBase64Url(fromHex(objectId));
}

/** The object's id, or undefined for a text that is no task id. Each id has one spelling. */
export function toObjectId(taskId: string): string | undefined {
  const bytes = decodeBase64Url(taskId);
  return bytes?.length === 32 ? toHex(bytes) : undefined;
}

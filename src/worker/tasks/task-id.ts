/**
 * A task id names the object that holds the task: it is the 32 bytes of the object's id as 43 characters of base64url.
 * Half of these bytes are random and half are a tag that only the platform can compute. So ids cannot be guessed, and a
 * forged id wakes no object.
 *
 * @module
 */
import { decodeBase64Url, encodeBase64Url, fromHex, toHex } from "../../core/basics/bytes.ts";

/** @param objectId 64 hexadecimal digits. */
export function toTaskId(objectId: string): string {
  return encodeBase64Url(fromHex(objectId));
}

/** Returns the object's id, or undefined when the text is not a task id. Each id has exactly one spelling. */
export function toObjectId(taskId: string): string | undefined {
  const bytes = decodeBase64Url(taskId);
  return bytes?.length === 32 ? toHex(bytes) : undefined;
}

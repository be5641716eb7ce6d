/**
 * What a task id says: which object has the task. The 32 bytes of an object's id, of which half are random and half a
 * tag that only the platform can make, as 43 characters. So ids cannot be guessed, and a forged one wakes no object.
 *
 * @module
 */

/** @param objectId 64 hexadecimal digits. */
export function toTaskId(objectId: string): string {
  const bytes = (objectId.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace("=", "");
}

/** The object's id, or undefined for a text that is no task id. Each id has one spelling. */
export function toObjectId(taskId: string): string | undefined {
  if (!/^[\w-]{43}$/.test(taskId)) return undefined;
  const binary = atob(taskId.replaceAll("-", "+").replaceAll("_", "/"));
  const objectId = Array.from(binary, (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  return toTaskId(objectId) === taskId ? objectId : undefined;
}

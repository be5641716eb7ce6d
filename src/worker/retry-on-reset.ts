/** Calls an object, and once more if the object was reset during the call, but not if it is overloaded. For idempotent calls. */
export async function retryOnReset<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { retryable, durableObjectReset, overloaded } = error as Record<string, unknown>;
    if (overloaded || !(retryable || durableObjectReset)) throw error;
    return ask();
  }
}

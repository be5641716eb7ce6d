/** Makes an idempotent call to a Durable Object. Retries once if the object was reset, but not if it is overloaded. */
export async function retryOnReset<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { retryable, durableObjectReset, overloaded } = error as Record<string, unknown>;
    if (overloaded || !(retryable || durableObjectReset)) throw error;
    return ask();
  }
}

/**
 * What an object answers, asked once more when it was reset meanwhile; never when it has too much to do. For what may be
 * asked twice.
 */
export async function twice<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { retryable, durableObjectReset, overloaded } = error as Record<string, unknown>;
    if (overloaded || !(retryable || durableObjectReset)) throw error;
    return ask();
  }
}

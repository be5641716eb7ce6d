/** Returns a function that caches its last result, for a key that is nearly always the same, such as `env`. */
export function keepLast<Key, Value>(create: (key: Key) => Value): (key: Key) => Value {
  let last: { readonly key: Key; readonly value: Value } | undefined;
  return (key) => {
    if (!last || last.key !== key) last = { key, value: create(key) };
    return last.value;
  };
}

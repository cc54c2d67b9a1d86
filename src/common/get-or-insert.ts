/** A Map, a WeakMap or a cache. */
interface Table<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: NoInfer<Value>): unknown
}

/** The value of a key, made and kept at its first use: `getOrInsertComputed`, which Map has in newer runtimes. */
export function getOrInsert<Key, Value extends {}>(
  table: Table<Key, Value>,
  key: Key,
  make: (key: Key) => Value,
): Value {
  let value = table.get(key)
  if (value === undefined) {
    value = make(key)
    table.set(key, value)
  }
  return value
}

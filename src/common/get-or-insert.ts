/** The methods of a Map, a WeakMap or a cache that `getOrInsert` needs. */
interface Table<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: NoInfer<Value>): unknown
}

/** The value of a key in the table. A missing value is made and stored, as `Map.getOrInsertComputed` of newer runtimes does. */
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

import { getOrInsert } from '../common/index.ts'

/** How many keys are checked for each new one. */
const checksPerKey = 2

/** A map of keys that forgets idle keys: each new key checks a few older keys. */
export class KeyMap<Value extends { readonly idle: boolean }> extends Map<string | undefined, Value> {
  of(key: string | undefined, create: () => Value): Value {
    return getOrInsert(this, key, () => {
      this.#forgetIdle()
      return create()
    })
  }

  #forgetIdle(): void {
    let checked = 0
    for (const [key, value] of this) {
      if (checked++ === checksPerKey) return
      this.delete(key)
      if (!value.idle) this.set(key, value)
    }
  }
}

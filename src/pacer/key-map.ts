import { getOrInsert } from '../common/index.ts'

/** How many older keys are checked for idleness whenever a key is added. */
const checksPerKey = 2

/** A map that removes idle keys: whenever a key is added, a few older keys are checked. */
export class KeyMap<Value extends { readonly idle: boolean }> extends Map<string | undefined, Value> {
  of(key: string | undefined, create: (key: string | undefined) => Value): Value {
    return getOrInsert(this, key, (own) => {
      this.#forgetIdle()
      return create(own)
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

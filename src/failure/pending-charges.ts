import type { Policy } from '../algorithms/index.ts'

/** A charge that was sent to the store and is not answered. Its units count as charged. */
export interface PendingCharge {
  readonly scope: string
  readonly key: string
  /** The charged units, by the names of the policies. */
  readonly units: ReadonlyMap<string, number>
  /** The charged units that this process has given back since, by the names of the policies. They wait for the answer. */
  readonly waiting: Map<string, number>
}

/** The charges that the store has not answered. The limiters with one name share them. */
export class PendingCharges {
  /** The charges by scope and key. A key has an entry only while a charge of it waits. */
  readonly #all = new Map<string, PendingCharge[]>()

  /** @param units one number for each of the policies */
  begin(scope: string, key: string, policies: readonly Policy[], units: readonly number[]): PendingCharge {
    const named = policies.map(({ name }, n) => [name, units[n] as number] as const)
    const charge = { scope, key, units: new Map(named), waiting: new Map() }
    this.#all.set(nameOf(scope, key), [...this.#of(scope, key), charge])
    return charge
  }

  /** Called when the store has answered. Returns false if this process has reset the key in the meantime. */
  end(charge: PendingCharge): boolean {
    const { scope, key } = charge
    const all = this.#of(scope, key)
    const others = all.filter((each) => each !== charge)
    if (others.length > 0) this.#all.set(nameOf(scope, key), others)
    else this.#all.delete(nameOf(scope, key))
    return others.length < all.length
  }

  /** Forgets the charges of a key, because this process has reset the key. */
  forget(scope: string, key: string): void {
    this.#all.delete(nameOf(scope, key))
  }

  forgetAll(): void {
    this.#all.clear()
  }

  /** The units of a key that were given back and wait for the answer to a charge, under one policy. */
  waiting(scope: string, key: string, { name }: Policy): number {
    return this.#of(scope, key).reduce((sum, { waiting }) => sum + (waiting.get(name) ?? 0), 0)
  }

  /**
   * Lets given-back units wait for the answer to the charges that took them. Returns how many units no such charge has taken.
   * @param back the units that are given back
   */
  giveBack(scope: string, key: string, { name }: Policy, back: number): number {
    let rest = back
    for (const { units, waiting } of this.#of(scope, key)) {
      const before = waiting.get(name) ?? 0
      const part = Math.min(rest, (units.get(name) ?? 0) - before)
      waiting.set(name, before + part)
      rest -= part
    }
    return rest
  }

  #of(scope: string, key: string): readonly PendingCharge[] {
    return this.#all.get(nameOf(scope, key)) ?? []
  }
}

/** True if one of the numbers is above 0. */
export function hasUnits(units: readonly number[]): boolean {
  return units.some((each) => each > 0)
}

/** Each pair of scope and key gets a different name, because a scope contains no line feed. */
export function nameOf(scope: string, key: string): string {
  return `${scope}\n${key}`
}

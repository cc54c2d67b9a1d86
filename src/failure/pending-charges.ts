import type { Policy } from '../algorithms/index.ts'

/** A charge that was sent to the store and is not answered. Its units count as charged. */
export interface PendingCharge {
  readonly scope: string
  readonly key: string
  /** The charged units that were not given back, by the names of the policies. */
  readonly units: Map<string, number>
  /** Functions that give units back in the store. They are called if the store may have counted the charge. */
  readonly refunds: (() => void)[]
}

/** The charges that the store has not answered. The limiters with one name share them. */
export class PendingCharges {
  readonly #all = new Set<PendingCharge>()

  /** @param units one number for each of the policies */
  begin(scope: string, key: string, policies: readonly Policy[], units: readonly number[]): PendingCharge {
    const named = policies.map(({ name }, n) => [name, units[n] as number] as const)
    const charge = { scope, key, units: new Map(named), refunds: [] }
    this.#all.add(charge)
    return charge
  }

  /**
   * Called when the store has answered.
   * @param counted true if the store may have counted the charge
   * @returns the units that count as charged no longer: one number for each of the policies. Undefined if there are none
   */
  end(charge: PendingCharge, counted: boolean, policies: readonly Policy[]): readonly number[] | undefined {
    if (!this.#all.delete(charge)) return undefined // this process has reset the key
    if (!counted) return policies.map(({ name }) => charge.units.get(name) ?? 0)
    for (const refund of charge.refunds) refund()
    return undefined
  }

  /** Forgets the charges of a key, because this process has reset the key. */
  forget(scope: string, key: string): void {
    for (const charge of this.#all) if (charge.scope === scope && charge.key === key) this.#all.delete(charge)
  }

  forgetAll(): void {
    this.#all.clear()
  }

  /**
   * Gives units of a key back in the store. Units of a charge that the store has not answered are given back after the answer, and only if
   * the store may have counted the charge.
   */
  giveBack(
    scope: string,
    key: string,
    policies: readonly Policy[],
    units: readonly number[],
    refund: (units: readonly number[]) => void,
  ): void {
    let rest = units
    for (const charge of this.#all) {
      if (charge.scope !== scope || charge.key !== key) continue
      const part = policies.map(({ name }, n) => Math.min(rest[n] as number, charge.units.get(name) ?? 0))
      for (const [n, { name }] of policies.entries()) {
        charge.units.set(name, (charge.units.get(name) ?? 0) - (part[n] as number))
      }
      rest = rest.map((all, n) => all - (part[n] as number))
      if (hasUnits(part)) charge.refunds.push(() => refund(part))
    }
    if (hasUnits(rest)) refund(rest)
  }
}

/** True if one of the numbers is above 0. */
export function hasUnits(units: readonly number[]): boolean {
  return units.some((each) => each > 0)
}

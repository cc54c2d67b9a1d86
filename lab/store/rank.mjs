/*
 * The order of keys: refused keys, the longest refusal first, then other keys by the used share of their limit.
 */

const by = {
  refused: (row) => row.retryAfter * 1e6 + row.fullest,
  share: (row) => row.fullest,
  ban: (row) => row.bannedFor * 1e6 + row.retryAfter,
}

export const orders = Object.keys(by)

/**
 * One row for a stored key: its binding policy, and the share of its units that are used. A penalty and a ban have no share. `fullest` is the
 * largest share of all policies.
 */
export function rowOf(stored) {
  const { inspection } = stored
  if (inspection === undefined) return { ...stored, refused: false, retryAfter: 0, bannedFor: 0, fullest: 0 }
  const { refused, retryAfter, policies, lastUsedAt, ban, at } = inspection
  const shares = policies.filter(({ kind }) => kind !== 'penalty').map((policy) => ({ policy, share: shareOf(policy) }))
  const fullest = shares.reduce((a, b) => (b.share > a.share ? b : a), { policy: policies[0], share: 0 })
  const binding = refused ? policies.find((policy) => policy.retryAfter === retryAfter) : fullest.policy
  const bannedFor = Math.max(
    ban === undefined ? 0 : ban.until - at,
    ...policies.filter(({ kind }) => kind === 'penalty').map((policy) => policy.retryAfter),
  )
  const share = shares.find(({ policy }) => policy === binding)?.share
  return { ...stored, refused, retryAfter, bannedFor, share, fullest: fullest.share, policy: binding, lastUsedAt }
}

function shareOf({ used, burst, kind, limit }) {
  if (kind.startsWith('smooth')) return 0
  return used / Math.max(1, kind === 'bucket' ? burst : limit)
}

/** The first rows in the order of this file, in bounded memory. @param rows an async iterable */
export class Top {
  rows = []
  #most
  #value

  constructor(most, order) {
    this.#most = most
    this.#value = by[order]
  }

  add(row) {
    if (this.rows.length === this.#most && this.#value(row) <= this.#value(this.rows.at(-1))) return
    const value = this.#value(row)
    let place = this.rows.findIndex((other) => this.#value(other) < value)
    if (place < 0) place = this.rows.length
    this.rows.splice(place, 0, row)
    this.rows.length = Math.min(this.rows.length, this.#most)
  }
}

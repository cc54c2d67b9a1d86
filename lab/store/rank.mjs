/*
 * The order of keys: the key first that is refused until the latest time, then other keys by the used share of their limit. A look at a
 * million keys takes long, so a refusal is compared by the time at which it ends, and not by what was left when the key was read.
 */

/** Each order: negative if the first row comes before the second. Infinity minus Infinity is NaN, and the next number decides. */
const by = {
  refused: (a, b) => refusedUntil(b) - refusedUntil(a) || b.fullest - a.fullest,
  share: (a, b) => b.fullest - a.fullest,
  ban: (a, b) => bannedUntil(b) - bannedUntil(a) || refusedUntil(b) - refusedUntil(a),
}

function refusedUntil({ retryAfter, inspection }) {
  return retryAfter === 0 ? 0 : inspection.at + retryAfter
}

function bannedUntil({ bannedFor, inspection }) {
  return bannedFor === 0 ? 0 : inspection.at + bannedFor
}

export const orders = Object.keys(by)

const unread = { refused: false, retryAfter: 0, bannedFor: 0, share: undefined, fullest: 0, policy: undefined }

/**
 * One row for a stored key: its binding policy, and the share of its units that are used. A penalty and a ban have no share. `fullest` is the
 * largest share of all policies. A table may be of a million keys, so this function makes one object and no list.
 */
export function rowOf({ storeKey, limiter, scope, key, hash, bytes, inspection }) {
  const stored = { storeKey, limiter, scope, key, hash, bytes, inspection }
  if (inspection === undefined) return Object.assign(stored, unread, { lastUsedAt: undefined })
  const { refused, retryAfter, policies, lastUsedAt, ban, at } = inspection
  let [fullest, policy] = [0, policies[0]]
  let bannedFor = ban === undefined ? 0 : ban.until - at
  for (const each of policies) {
    if (each.kind === 'penalty') bannedFor = Math.max(bannedFor, each.retryAfter)
    else if (shareOf(each) > fullest) {
      fullest = shareOf(each)
      policy = each
    }
  }
  if (refused) policy = policies.find((each) => each.retryAfter === retryAfter)
  const share = policy === undefined || policy.kind === 'penalty' ? undefined : shareOf(policy)
  return {
    storeKey,
    limiter,
    scope,
    key,
    hash,
    bytes,
    inspection,
    refused,
    retryAfter,
    bannedFor,
    share,
    fullest,
    policy,
    lastUsedAt,
  }
}

function shareOf({ used, burst, kind, limit }) {
  if (kind.startsWith('smooth')) return 0
  return used / Math.max(1, kind === 'bucket' ? burst : limit)
}

/** The first rows in the order of this file, in bounded memory. */
class Top {
  rows = []
  #most
  #before

  constructor(most, order) {
    this.#most = most
    this.#before = by[order]
  }

  add(row) {
    if (this.rows.length === this.#most && !(this.#before(row, this.rows.at(-1)) < 0)) return
    const place = this.rows.findIndex((other) => this.#before(row, other) < 0)
    this.rows.splice(place < 0 ? this.rows.length : place, 0, row)
    this.rows.length = Math.min(this.rows.length, this.#most)
  }
}

/** A look at all keys: how many there are, how many are refused, and the first rows in each order, of all keys and of refused keys only. */
export class Look {
  at = Date.now()
  keys = 0
  refused = 0
  /** How long the look took, in milliseconds; 0 until the look ends. */
  took = 0
  #tops
  #refusedTops
  #text

  /** @param {number} most rows of each order @param {string[]} kept the orders to keep @param {string} text a part of the names to keep */
  constructor(most, kept = orders, text = '') {
    const tops = () => new Map(kept.map((order) => [order, new Top(most, order)]))
    this.#tops = tops()
    this.#refusedTops = tops()
    this.#text = text
  }

  add(row) {
    this.keys++
    if (row.refused) this.refused++
    if (this.#text !== '' && !nameOf(row).includes(this.#text)) return
    for (const top of this.#tops.values()) top.add(row)
    if (row.refused) for (const top of this.#refusedTops.values()) top.add(row)
  }

  rows(order, refusedOnly) {
    return (refusedOnly ? this.#refusedTops : this.#tops).get(order).rows
  }
}

export function nameOf({ key, hash }) {
  return key ?? hash
}

/** Header fields: the `Headers` of fetch, or an object with names in lower case such as Node's. */
export type HeaderFields =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** Returns a field by its name in lower case. */
export type Read = (name: string) => string | undefined

/** One limit of a server. A number that the server does not send is undefined. */
export interface Quota {
  /** The name of the limit, such as `'burst'`. Only drafts 8 and later of RateLimit have names. */
  readonly name: string | undefined
  /** The unit that the server counts: `'requests'`, `'tokens'`, `'input-tokens'`, `'output-tokens'`. Default `'requests'`. */
  readonly unit: string
  /** Units per window. */
  readonly limit: number | undefined
  /** Units that are left. */
  readonly remaining: number | undefined
  /** Milliseconds. With `w=60` it is 60000. */
  readonly window: number | undefined
  /** Milliseconds until units come back. With `t=30` it is 30000, with `6m0s` it is 360000. */
  readonly resetAfter: number | undefined
  /** Units that the request took, if the server says so. */
  readonly cost: number | undefined
}

/** What the header fields of a response say about rate limits, as `parseRateLimit` returns it. */
export interface ParsedRateLimit {
  /**
   * The newest dialect that was understood: drafts 8 and later (`'list'`), draft 7 (`'dictionary'`), draft 6 (`'fields'`),
   * X-RateLimit (`'legacy'`), or fields for each unit (`'units'`). Undefined if there was none.
   */
  readonly dialect: 'list' | 'dictionary' | 'fields' | 'legacy' | 'units' | undefined
  /** The limits that `dialect` reports, and the limits of fields for each unit. */
  readonly quotas: readonly Quota[]
  /**
   * The time that `Retry-After-Ms` names, else `Retry-After`, in milliseconds from now. This time takes precedence over
   * the quotas.
   */
  readonly retryAfter: number | undefined
}

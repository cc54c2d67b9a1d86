/** Header fields: the `Headers` of fetch, or an object with field names in lower case, such as Node's. */
export type HeaderFields =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** Returns the value of the header field with this name. The name is in lower case. */
export type Read = (name: string) => string | undefined

/** One limit that a server reports. A value that the server does not send is undefined. */
export interface Quota {
  /** The name of the limit, such as `'burst'`. Only drafts 8 and later of RateLimit have names. */
  readonly name: string | undefined
  /** The unit that the server counts: `'requests'`, `'tokens'`, `'input-tokens'`, `'output-tokens'`. Default `'requests'`. */
  readonly unit: string
  /** The most units that the server admits in a window. */
  readonly limit: number | undefined
  /** How many units of the window are left. */
  readonly remaining: number | undefined
  /** The length of the window in milliseconds. Example: 60000 for a field with `w=60`. */
  readonly window: number | undefined
  /** Milliseconds from `now` of `parseRateLimit` until the server gives units back. Examples: 30000 for `t=30`, 360000 for `6m0s`. */
  readonly resetAfter: number | undefined
  /** How many units of the limit the request took, if the server says so. */
  readonly cost: number | undefined
}

/** The result of `parseRateLimit`: what the header fields of a response say about rate limits. */
export interface ParsedRateLimit {
  /**
   * The newest dialect in the response: drafts 8 and later (`'list'`), draft 7 (`'dictionary'`), draft 6 (`'fields'`),
   * X-RateLimit (`'legacy'`), or fields for each unit (`'units'`). Undefined if the response reports no limit.
   */
  readonly dialect: 'list' | 'dictionary' | 'fields' | 'legacy' | 'units' | undefined
  /** The limits that the fields of `dialect` report, and the limits of the fields for each unit. */
  readonly quotas: readonly Quota[]
  /**
   * The wait that the field `Retry-After-Ms` names, in milliseconds from now; if that field is missing, the wait of
   * `Retry-After`. Prefer this wait to the times of the quotas.
   */
  readonly retryAfter: number | undefined
}

/* The waits that clients read: whole seconds, rounded up, so that no client comes back too early. */

export function wholeSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000)
}

/** The value of Retry-After (RFC 9110, 10.2.3). Undefined for a cost that can never fit. */
export function retryAfterSeconds(retryAfter: number): number | undefined {
  return Number.isFinite(retryAfter) ? wholeSeconds(retryAfter) : undefined
}

export function tryAgain(seconds: number): string {
  return `Try again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`
}

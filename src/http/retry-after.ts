/* Converts milliseconds to whole seconds for a client to read. The seconds are rounded up, so that no client retries too early. */

export function wholeSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000)
}

/** The value of the field Retry-After, in seconds (RFC 9110, 10.2.3). Undefined if the cost can never be admitted. */
export function retryAfterSeconds(retryAfter: number): number | undefined {
  return Number.isFinite(retryAfter) ? wholeSeconds(retryAfter) : undefined
}

export function tryAgain(seconds: number): string {
  return `Try again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`
}

/** A mistake in the command line, with the fix. */
export class UsageError extends Error {
  constructor(message, fix) {
    super(`${message} ${fix}`)
    this.name = 'UsageError'
  }
}

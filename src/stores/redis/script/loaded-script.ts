import { createHash } from 'node:crypto'

/** A Lua script and the name that Redis gives it. */
export class Script {
  readonly text: string
  readonly sha: string

  constructor(text: string) {
    this.text = text
    this.sha = createHash('sha1').update(text).digest('hex')
  }
}

/** True if Redis does not have the script, so it certainly did not run. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

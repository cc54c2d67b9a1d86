import { createHash } from 'node:crypto'

/** A Lua script and its SHA-1, by which Redis identifies the script. */
export class Script {
  readonly text: string
  readonly sha: string

  constructor(text: string) {
    this.text = text
    this.sha = createHash('sha1').update(text).digest('hex')
  }
}

/** True if the error says that Redis does not have the script, so that the script certainly did not run. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

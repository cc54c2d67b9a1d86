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

/** The script of one plan (see lua/plain/script.ts). */
export class PlainScript extends Script {
  /** True if a refusal tells when `remaining` grows. */
  readonly cacheable: boolean

  constructor(text: string, cacheable: boolean) {
    super(text)
    this.cacheable = cacheable
  }
}

/** True if Redis does not have the script, so it certainly did not run. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

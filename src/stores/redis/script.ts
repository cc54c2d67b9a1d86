import { createHash } from 'node:crypto'
import type { Connection } from './client.ts'

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
  /** The same for all plans of one limiter. */
  readonly limiter: string

  constructor(text: string, cacheable: boolean, limiter: string) {
    super(text)
    this.cacheable = cacheable
    this.limiter = limiter
  }
}

/**
 * Runs a script. It is sent again only if Redis does not have it, and then it certainly did not run.
 * @param onMissing called in that case: Redis restarted, or was told to flush its scripts, so it may have lost others too
 */
export async function evaluate(
  connection: Connection,
  { sha, text }: Script,
  keys: string[],
  args: (string | Buffer)[],
  onMissing: () => void,
): Promise<unknown> {
  try {
    return await connection.evalSha(sha, keys, args)
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    onMissing()
    return connection.eval(text, keys, args)
  }
}

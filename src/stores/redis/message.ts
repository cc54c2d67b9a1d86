import type { Script } from './script.ts'
import type { ScriptRequest } from './script-request.ts'

/** The requests of one script call, as the script reads them. */
export interface Message {
  /** The script that decides; undefined for the whole script. */
  readonly script: Script | undefined
  /** Each key once. */
  readonly keys: string[]
  /** The requests in the order of the reply. */
  readonly requests: readonly ScriptRequest[]
  /** How many requests there are. */
  readonly size: number
  /** Adds a request. Returns false, and adds nothing, if it does not fit. */
  add(request: ScriptRequest): boolean
  /** Moves the later half of the requests to a new message. Undefined if that cannot be done. */
  split(): Message | undefined
  /** The arguments of the script. It does nothing if the first one begins with `0` (see script-call.ts). */
  args(): (string | Buffer)[]
}

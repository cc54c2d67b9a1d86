import type { Script } from '../script/index.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'
import { wholeArgs } from './whole-message.ts'

/** A request without a response yet, and the functions that resolve or reject its promise. */
export interface WaitingRequest {
  readonly request: ScriptRequest
  /** Resolves the caller's promise. May throw, because a clock that the user passed may throw. */
  receive(response: ScriptResponse): void
  reject(error: unknown): void
}

/** One script call: a script, keys and arguments for some requests. */
export interface Message {
  readonly script: Script
  /** The Redis keys of all requests, each key once. */
  readonly keys: string[]
  /** The arguments of the script. If the first argument begins with `0`, the script does nothing (see script-call.ts). */
  readonly args: (string | Buffer)[]
  /** The requests, in the order of their responses in the script's reply. */
  readonly calls: WaitingRequest[]
}

/**
 * @param whole the script that can decide every request. This script is called if the short script of the plan (set of policies) cannot
 *   decide all `calls`
 * @param ttlMargin for how many milliseconds a key stays in Redis after its states are no longer needed
 */
export function messageOf(calls: WaitingRequest[], whole: Script, ttlMargin: number): Message {
  const { request: first } = calls[0] as WaitingRequest
  const { plain } = first.plan
  if (plain !== undefined && calls.every(({ request }) => isPlain(request, first))) return plainMessage(calls, plain)
  return { script: whole, calls, ...wholeArgs(calls, ttlMargin) }
}

/**
 * True if the short script of a plan (set of policies) can decide `request` together with `first` in one message. The script can do so for
 * calls of `consume` with the same plan, cost and time, without a lease, if both calls or neither want `nextAfter`.
 */
function isPlain(request: ScriptRequest, first: ScriptRequest): boolean {
  const { plan, verb, costs, now, lease } = request
  return (
    verb === 'consume' &&
    typeof costs === 'number' &&
    lease === undefined &&
    plan === first.plan &&
    costs === first.costs &&
    now === first.now &&
    wantsNext(request) === wantsNext(first)
  )
}

/**
 * A message for the short script of one plan, or set of policies (script/plain/plain-script.ts). The message has each key once. The script
 * replies to all calls of the first key, then to all calls of the second key, and so on.
 */
function plainMessage(all: readonly WaitingRequest[], script: Script): Message {
  const { request: first } = all[0] as WaitingRequest
  const byKey = new Map<string, WaitingRequest[]>()
  for (const call of all) {
    const key = call.request.keys[0] as string
    const calls = byKey.get(key)
    if (calls === undefined) byKey.set(key, [call])
    else calls.push(call)
  }
  const keys = [...byKey.keys()]
  const calls = [...byKey.values()].flat()
  const { costs, now } = first
  const form = wantsNext(first) ? '2' : '1'
  if (keys.length === calls.length && costs === 1 && now < 0) return { script, keys, args: [form], calls }
  const args = [form, `${costs}`, now < 0 ? '' : `${now}`]
  for (const [index, { length }] of [...byKey.values()].entries()) {
    if (length > 1) args.push(`${index + 1}`, `${length}`)
  }
  return { script, keys, args, calls }
}

function wantsNext({ details }: ScriptRequest): boolean {
  return details?.nextAfter === true
}

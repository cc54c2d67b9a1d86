import type { Script } from '../script/index.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'
import { wholeArgs } from './whole-message.ts'

/** A request that waits for its response. */
export interface WaitingRequest {
  readonly request: ScriptRequest
  /** Settles the caller. It may throw, as the user's own clock may. */
  receive(response: ScriptResponse): void
  reject(error: unknown): void
}

/** The requests of one script call, as the script reads them. */
export interface Message {
  readonly script: Script
  /** Each key once. */
  readonly keys: string[]
  /** The arguments of the script. The script does nothing if the first argument begins with `0` (see script-call.ts). */
  readonly args: (string | Buffer)[]
  /** The calls in the order of the reply. */
  readonly calls: WaitingRequest[]
}

/** @param whole the script that can decide every request @param ttlMargin in milliseconds */
export function messageOf(calls: WaitingRequest[], whole: Script, ttlMargin: number): Message {
  const { request: first } = calls[0] as WaitingRequest
  const { plain } = first.plan
  if (plain !== undefined && calls.every(({ request }) => isPlain(request, first))) return plainMessage(calls, plain)
  return { script: whole, calls, ...wholeArgs(calls, ttlMargin) }
}

/** True if the plain script decides the request in one message with `first`: then both have one plan, cost and time. */
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

/** A message for the script of one plan (see script/plain/plain-script.ts), whose reply lists the calls of each key in turn. */
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

import type { Script } from '../script/index.ts'
import type { ScriptRequest } from './script-request.ts'
import type { ScriptResponse } from './script-response.ts'
import { wholeArgs } from './whole-script-message.ts'

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
 * Makes the script call that decides these requests.
 * @param whole the script that can decide every request. This script is called if the short script of the plan (set of policies) cannot
 *   decide all `calls`
 * @param ttlMargin for how many milliseconds a key stays in Redis after its states are no longer needed
 */
export function messageOf(calls: WaitingRequest[], whole: Script, ttlMargin: number): Message {
  const { request: first } = calls[0] as WaitingRequest
  const { short } = first.plan
  if (short !== undefined && calls.every(({ request }) => fitsShortScript(request, first))) {
    const message = shortMessage(calls, short)
    if (message !== undefined) return message
  }
  return { script: whole, calls, ...wholeArgs(calls, ttlMargin) }
}

/**
 * True if the short script of a plan (set of policies) can decide `request` together with `first` in one message. The short script decides
 * calls of `consume` with the same plan, cost and time, and without a lease. Either all these calls or none may ask for `nextAfter`.
 */
function fitsShortScript(request: ScriptRequest, first: ScriptRequest): boolean {
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
 * A message for the short script of one plan (script/short/short-script.ts). The message has each key once. The script
 * replies to all calls of the first key, then to all calls of the second key, and so on. Undefined if two calls of one key have different
 * windows of a calendar, because only the whole script can decide such calls.
 */
function shortMessage(all: readonly WaitingRequest[], script: Script): Message | undefined {
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
  const hasCalendar = first.plan.policies.some(({ algorithm }) => algorithm.place !== undefined)
  const windows = hasCalendar ? windowsOf([...byKey.values()]) : undefined
  if (hasCalendar && windows === undefined) return undefined
  if (windows === undefined && keys.length === calls.length && costs === 1 && now < 0) {
    return { script, keys, args: [form], calls }
  }
  const args: Message['args'] = [form, `${costs}`, now < 0 ? '' : `${now}`]
  if (windows !== undefined) args.push(windows)
  for (const [index, { length }] of [...byKey.values()].entries()) {
    if (length > 1) args.push(`${index + 1}`, `${length}`)
  }
  return { script, keys, args, calls }
}

/**
 * The starts of the windows as doubles: once if all keys have the same starts, or else for each key. Undefined if two calls of one key have
 * different starts.
 * @param byKey the calls of each key
 */
function windowsOf(byKey: readonly (readonly WaitingRequest[])[]): Buffer | undefined {
  const starts = byKey.map((calls) => {
    const [own, ...others] = calls.map(({ request }) => request.windows)
    return others.every((each) => each === own || sameWindows(each, own)) ? own : undefined
  })
  if (starts.includes(undefined)) return undefined
  const [first] = starts
  const some = starts.every((each) => each === first || sameWindows(each, first)) ? [first] : starts
  return Buffer.from(new Float64Array(some.flat(2).filter((start) => start !== undefined)).buffer)
}

function sameWindows(a: ScriptRequest['windows'], b: ScriptRequest['windows']): boolean {
  return a?.every((starts, n) => starts === b?.[n] || starts?.every((start, i) => start === b?.[n]?.[i])) ?? false
}

function wantsNext({ details }: ScriptRequest): boolean {
  return details?.nextAfter === true
}

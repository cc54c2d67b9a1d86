/*
 * One decision over keys in several slots of Redis Cluster, which one script call cannot touch together.
 *
 * In the first phase, every slot reserves the cost. If all slots grant the reservation, the call is admitted. If a slot refuses,
 * the second phase cancels the reservations of the other slots, and the call is refused. If a slot fails, the reservations are
 * cancelled too, and the promise of the call rejects. Policies of one key are always decided in one step.
 *
 * Penalties (bans after refusals) and policies with `countRefused` count a refusal in the second phase, because all waits, and all bans by
 * hand, are known only after the first phase. A refusal by a ban counts nowhere, except in shadow policies of other slots.
 *
 * No policy admits more than it allows, and a refused call has used no units when its promise resolves. Some guarantees are
 * weaker than in one step. Between the phases, the reserved units are used, so another call may be refused that would otherwise
 * be admitted. If this process or the connection fails between the phases, the units stay used. If one slot refuses a renewal, the
 * reservation still holds its units in the other slots, until it is released.
 *
 * A penalty that begins when a quota is spent counts an admitted call in a third phase, because after the second phase no slot gives units
 * back. If the third phase fails in a slot, the call stays admitted, and the penalty of this slot does not count it.
 *
 * The first phase notes no threshold as reported. If an admitted call reaches thresholds, a last phase notes and reports them.
 *
 * If the clock of a slot is in none of the request's windows (of a calendar), a call is cancelled in the other slots, and runs again with
 * other windows. A charge, a renewal, or a command that gives units back cannot be cancelled exactly, so only the part on the keys of that
 * slot is sent again. If a command that gives units back fails in some slots, its error names the scopes in which the command counted.
 */

import { isBannable } from '../../../algorithms/bans/index.ts'
import type { DecidingVerb, Tickets } from '../../../algorithms/evaluation/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import { allOf, type HeadgateError } from '../../../common/index.ts'
import { allParts, runPart } from '../../contract/index.ts'
import type { ScriptRequest } from './script-request.ts'
import type { PolicyReport, ResponseBan, ScriptResponse } from './script-response.ts'
import type { SlotGroup } from './slot-groups.ts'
import { canCancel, countsLater, firstPhase, undo, windowsIn } from './slot-requests.ts'

const ignore = (): void => {}

/** The longest pause before units are given back again, in milliseconds. All pauses together take about 5 s. */
const longestPause = 2560

export type Send = (request: ScriptRequest) => Promise<ScriptResponse>

export async function sendInTwoPhases(
  send: Send,
  whole: ScriptRequest,
  groups: readonly SlotGroup[],
): Promise<ScriptResponse> {
  const { verb } = whole
  const cancels = canCancel(whole)
  const takes = cancels || verb === 'charge'
  const sent = groups.map((group) => {
    const request = firstPhase(whole, group, cancels ? withdrawing(send, whole, group) : lateIn(whole, group))
    return cancels ? send(request) : sendPlaced(send, request)
  })
  const answers = ['settle', 'refund', 'reset'].includes(verb)
    ? allParts(groups.map(({ plan: { scopes } }, n) => ({ scopes, result: sent[n] as Promise<ScriptResponse> })))
    : allOf(sent)
  const responses = await answers.catch((error) => {
    if (takes) withdraw(send, whole, groups, sent)
    if (verb === 'renew') for (const [n, group] of groups.entries()) sent[n]?.then(renewing(whole, group)).catch(ignore)
    throw error
  })
  const allowed = responses.every((response) => response.allowed)
  const again = responses.some(({ elsewhere }) => elsewhere !== undefined)
  // If a key is banned, no penalty in any slot counts the refusal.
  const punish = again || responses.some(({ ban }) => ban?.refuses) ? undefined : longestDelay(responses)
  if (!allowed && takes) {
    await allOf(
      groups.map(async (group, n) => {
        responses[n] = await giveBack(send, whole, group, responses[n] as ScriptResponse, punish)
      }),
    )
  }
  if (cancels) {
    await allOf(
      groups.map(async (group, n) => {
        responses[n] = await tell(send, whole, group, responses[n] as ScriptResponse, allowed)
      }),
    )
  }
  if (allowed && verb === 'consume') {
    await allOf(
      groups.map(async (group, n) => {
        responses[n] = await keep(send, whole, group, responses[n] as ScriptResponse)
      }),
    )
  }
  return joined(whole, groups, responses, allowed)
}

/** Sends a request. Sends the request once more if the clock of its slot is in other windows. */
function sendPlaced(send: Send, request: ScriptRequest): Promise<ScriptResponse> {
  return runPart(request.plan.policies, request, (windows) => send({ ...request, windows }))
}

/** Sends a request that gives units back. Sends the request again while Redis refuses to run it, as while a slot moves to another node. */
async function sendUndo(send: Send, request: ScriptRequest): Promise<ScriptResponse> {
  for (let pause = 10; ; pause *= 2) {
    try {
      return await sendPlaced(send, request)
    } catch (error) {
      if (!(error as HeadgateError).uncounted || pause > longestPause) throw error
      await new Promise((wake) => setTimeout(wake, pause))
    }
  }
}

/** A function that reports the thresholds in the response of one slot, if the call gets no decision. */
function lateIn(whole: ScriptRequest, group: SlotGroup): ScriptRequest['late'] {
  const { late } = whole
  if (whole.verb === 'renew') return renewing(whole, group)
  return late && ((response) => late({ ...joined(whole, [group], [response], false), elsewhere: response.now }))
}

/** A function that notes the new tickets of one slot, if the renewal fails in another slot, or is late. The reservation has these tickets. */
function renewing({ tickets }: ScriptRequest, { places }: SlotGroup): (response: ScriptResponse) => void {
  const renewed = (tickets ?? []) as Tickets[number][]
  return (response) => {
    for (const [n, place] of places.entries()) renewed[place] = response.tickets?.[n] ?? renewed[place]
  }
}

/** Cancels the reservations in the other slots of the Cluster after a slot has failed. The caller does not wait for the result. */
function withdraw(
  send: Send,
  whole: ScriptRequest,
  groups: readonly SlotGroup[],
  sent: readonly Promise<ScriptResponse>[],
): void {
  for (const [n, group] of groups.entries()) sent[n]?.then(withdrawing(send, whole, group)).catch(ignore)
}

/** A function that gives back what one slot has granted, if the call gets no decision. */
function withdrawing(send: Send, whole: ScriptRequest, group: SlotGroup): (response: ScriptResponse) => void {
  return (response) => {
    if (response.allowed) sendUndo(send, undo(whole, group, response.tickets, {})).catch(ignore)
  }
}

/**
 * Cancels the reservation of a refused call in one slot. Under a policy with `countRefused`, the units stay used. A penalty (automatic ban)
 * counts the refusal.
 * @param punish how long the call has to wait, in microseconds; undefined if no penalty and no policy counts the refusal
 */
async function giveBack(
  send: Send,
  whole: ScriptRequest,
  group: SlotGroup,
  response: ScriptResponse,
  punish: number | undefined,
): Promise<ScriptResponse> {
  const { allowed, repeats, ban } = response
  if (!allowed && (punish === undefined || !countsLater(whole, group))) return response
  const tickets = allowed ? response.tickets : group.places.map(() => undefined)
  const details = { nextAfter: whole.details?.nextAfter === true || whole.cacheable === true }
  const after = await sendPlaced(send, undo(whole, group, tickets, { details, punish })).catch((error) => {
    if (error.uncounted) withdrawing(send, whole, group)(response)
    throw error
  })
  const last = group.plan.policies.at(-1) as Policy
  const banned = response.reports.at(-1)?.wait === 0 && after.reports.at(-1)?.wait !== 0
  const restarted = last.algorithm.restarts === true && banned
  const isReset = ({ scope, algorithm }: Policy) => restarted && scope === last.scope && !algorithm.leases
  const reports = after.reports.map((report, n) => {
    const { wait = 0, reached = [] } = response.reports[n] ?? {}
    const waits = wait > 0 && isReset(group.plan.policies[n] as Policy) ? 0 : wait
    return { ...report, wait: report.wait || waits, reached }
  })
  return { ...after, allowed, repeats, reports, ban }
}

/**
 * Reports to the penalty of one slot that the units of an admitted call stay used. Only a penalty whose bans begin when a quota is spent
 * needs this report.
 */
async function keep(
  send: Send,
  whole: ScriptRequest,
  group: SlotGroup,
  response: ScriptResponse,
): Promise<ScriptResponse> {
  const { plan, keys } = group
  const { now, calendar, details } = whole
  const { tickets, ban, delay } = response
  if (tickets === undefined || !plan.policies.some(({ algorithm }) => algorithm.spends)) return response
  const costs = plan.policies.map(({ algorithm }, n) => (algorithm.spends ? -(tickets[n]?.[2] ?? 0) : 0))
  const windows = windowsIn(whole, group)
  const request: ScriptRequest = { plan, verb: 'settle', keys, costs, windows, calendar, now, tickets, details }
  const after = await sendPlaced(send, request).catch(() => undefined)
  if (after === undefined) return response
  const reports = after.reports.map((report, n) => {
    const { wait = 0, reached = [] } = response.reports[n] ?? {}
    return { ...report, wait: report.wait || wait, reached }
  })
  return { ...after, delay, reports, ban }
}

/**
 * Notes in one slot that the thresholds which an admitted call has reached are reported. Returns the response with only those thresholds that
 * no other call has reported. If the request fails, a later call reports them. A refused call reports no thresholds.
 */
async function tell(
  send: Send,
  whole: ScriptRequest,
  group: SlotGroup,
  response: ScriptResponse,
  allowed: boolean,
): Promise<ScriptResponse> {
  if (response.reports.every(({ reached }) => reached.length === 0)) return response
  const { plan, keys } = group
  const { now, calendar } = whole
  const costs = response.reports.map(({ reached }) => (reached.length > 0 ? 0 : -1))
  const extras = { windows: windowsIn(whole, group), calendar, tellsLater: true, late: lateIn(whole, group) }
  const told = allowed
    ? await sendPlaced(send, { plan, verb: 'charge', keys, costs, now, ...extras }).catch(() => undefined)
    : undefined
  return {
    ...response,
    reports: response.reports.map((each, n) => ({ ...each, reached: told?.reports[n]?.reached ?? [] })),
  }
}

/** The longest wait in the responses of all slots, in microseconds. */
function longestDelay(responses: readonly ScriptResponse[]): number {
  return Math.max(...responses.map(({ delay }) => (delay < 0 ? Infinity : delay)))
}

function joined(
  whole: ScriptRequest,
  groups: readonly SlotGroup[],
  responses: readonly ScriptResponse[],
  allowed: boolean,
): ScriptResponse {
  const reports: PolicyReport[] = []
  const tickets: Tickets[number][] = []
  let delay = 0
  let ban: ResponseBan | undefined
  for (const [g, { places }] of groups.entries()) {
    const response = responses[g] as ScriptResponse
    if (response.elsewhere !== undefined) continue
    delay = Math.max(delay, response.delay)
    if (response.ban !== undefined && response.ban.wait > (ban?.wait ?? 0)) ban = response.ban
    for (const [n, place] of places.entries()) {
      reports[place] = response.reports[n] as PolicyReport
      tickets[place] = response.tickets?.[n]
    }
  }
  return {
    now: (responses[0] as ScriptResponse).now,
    allowed,
    elsewhere: responses.find(({ elsewhere }) => elsewhere !== undefined)?.elsewhere,
    repeats: responses.every((response) => response.allowed || response.repeats),
    delay,
    reports,
    tickets: whole.verb === 'renew' || (allowed && whole.verb === 'reserve') ? tickets : undefined,
    lease: undefined,
    ban: ban && { ...ban, refuses: isBannable(whole.verb as DecidingVerb) },
  }
}

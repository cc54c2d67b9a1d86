/*
 * One decision over keys in several Cluster slots, which no script can touch together.
 *
 * First every slot takes the cost, as a reservation. If all grant it, that is the decision. If one refuses, the others
 * give back by their tickets exactly what they took, and the decision is the refusal. Policies of one key are always
 * one step. What is promised of several: never more is admitted than any policy says, and a refusal that has been
 * answered holds nothing. What is not: between the two phases the units are taken, so that another call may be refused
 * that would have found them; and if this process or the connection dies in between, they stay taken.
 */
import type { Tickets } from '../../algorithms/evaluation.ts'
import { type QuestionExtras, Request } from './request.ts'
import type { Numbers, Response } from './response.ts'
import type { Terms } from './terms.ts'

export type Ask = (question: Request) => Promise<Response>

/** The part of a limiter's terms whose keys are in one slot. */
export interface Group {
  readonly terms: Terms
  readonly keys: readonly string[]
  /** Where its policies stand among those of the limiter. */
  readonly places: readonly number[]
}

export async function askInTwoPhases(ask: Ask, whole: Request, groups: readonly Group[]): Promise<Response> {
  const { verb, cost, now, extras } = whole
  const enforced = whole.terms.policies.filter(({ shadow }) => !shadow)
  // A future time is promised by one policy alone: see step.ts.
  const maxWait = enforced.length === 1 ? (extras.maxWait ?? 0) : 0
  const first = ({ terms, keys, places }: Group): Request => {
    const tickets = extras.tickets && places.map((place) => extras.tickets?.[place])
    const own: QuestionExtras = { ...extras, maxWait, tickets }
    return new Request(terms, verb === 'consume' ? 'reserve' : verb, keys, cost, now, own)
  }
  const answers = await settled(groups.map((group) => ask(first(group))))
  const allowed = answers.every((answer) => answer.allowed)
  if (!allowed && (verb === 'consume' || verb === 'reserve' || verb === 'charge')) {
    await settled(
      groups.map(async (group, n) => {
        answers[n] = await giveBack(ask, whole, group, answers[n] as Response)
      }),
    )
  }
  return joined(whole, groups, answers, allowed)
}

/** All of them have to be over before anything follows; then the first failure is the call's. */
async function settled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/** A policy that counts refused calls has counted this one by what it took; a penalty is told of it. */
async function giveBack(ask: Ask, whole: Request, { terms, keys }: Group, answer: Response): Promise<Response> {
  if (!answer.allowed) return answer
  const tickets = answer.tickets?.map((ticket, n) => (terms.policies[n]?.countRefused ? undefined : ticket))
  const details = { nextAfter: whole.extras.details?.nextAfter === true || whole.extras.denial === true }
  const extras = { tickets, details, punish: true }
  const after = await ask(new Request(terms, 'refund', keys, whole.cost, whole.now, extras))
  const numbers = after.numbers.map((each, n) => ({ ...each, wait: each.wait || (answer.numbers[n]?.wait ?? 0) }))
  return { ...after, allowed: true, numbers }
}

function joined(whole: Request, groups: readonly Group[], answers: readonly Response[], allowed: boolean): Response {
  const numbers: Numbers[] = []
  const tickets: Tickets[number][] = []
  let delay = 0
  for (const [g, { places }] of groups.entries()) {
    const answer = answers[g] as Response
    delay = Math.max(delay, answer.delay)
    for (const [n, place] of places.entries()) {
      numbers[place] = answer.numbers[n] as Numbers
      tickets[place] = answer.tickets?.[n]
    }
  }
  const { now } = answers[0] as Response
  return {
    now,
    allowed,
    lasts: answers.every((answer) => answer.allowed || answer.lasts),
    delay,
    numbers,
    tickets: allowed && whole.verb === 'reserve' ? tickets : undefined,
    lease: undefined,
  }
}

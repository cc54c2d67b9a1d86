import { HeadgateError, shown } from '../common/index.ts'
import { type Chain, derivePolicies, type Entry } from './derive-policies.ts'
import { invalid, type TargetLimiter } from './override-end.ts'
import { type Override, type OverrideRecord, unpackPolicy } from './override-record.ts'

/** @throws HeadgateError `HEADGATE_OVERRIDE` if the limiter cannot have the numbers or the policies of the override */
export function checkEffect(limiter: TargetLimiter, record: OverrideRecord): void {
  const { check, scopes } = limiter
  const { scope } = record
  if (check !== undefined && scope !== undefined && scopes.length > 0 && !scopes.includes(scope)) {
    const own = shown(scopes[0])
    throw invalid(`no policy of this limiter has the scope ${shown(scope)}. Write policy('5/1m', { scope: ${own} }).`)
  }
  const misfit = misfitOf(limiter, record)
  if (misfit === undefined) return
  const what =
    record.policies === undefined
      ? 'a policy of this limiter cannot have these numbers'
      : 'this limiter cannot have these policies'
  throw invalid(`${what}. ${misfit instanceof HeadgateError ? misfit.message : misfit}`)
}

/** The override as `overrides()` shows it to a limiter. */
export function shownTo(limiter: TargetLimiter, record: OverrideRecord): Override {
  const { policies, scopes } = limiter
  const { policies: recipes, scope, policy } = record
  const replaced = recipes?.map(unpackPolicy)
  const hasPolicy = policies.some((each) => {
    return (scope === undefined || each.scope === scope) && (policy === undefined || each.name === policy)
  })
  const isKnown = hasPolicy && (scope === undefined || scopes.includes(scope)) && !replaced?.includes(undefined)
  const effective = isKnown && misfitOf(limiter, record) === undefined
  return { ...record, ...(replaced && { policies: replaced }), effective } as Override
}

/** The error of a limiter whose calls have this override and no other. Undefined if there is none, or if the policies depend on the caller. */
function misfitOf({ policies: plan, check }: TargetLimiter, record: OverrideRecord): unknown {
  if (check === undefined) return undefined
  const policies = record.policies?.flatMap((recipe) => unpackPolicy(recipe) ?? [])
  const entry: Entry = { record, policies }
  const chain: Chain = { id: 0, entries: [entry], until: Infinity, isRest: true }
  const isFor = (scope: string) => record.scope === undefined || record.scope === scope
  const derived = derivePolicies(plan, (scope) => (isFor(scope) ? chain : undefined))
  if (!derived.renamed) return derived.applied.length === 0 ? derived.misfit : undefined
  try {
    check(derived.policies)
    return undefined
  } catch (error) {
    return error
  }
}

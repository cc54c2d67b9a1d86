/* Actions on overrides: other limits for some keys until a time, in every process of the store, without a deploy. */
import { policy } from 'headgate'
import { confirm } from '../cli/confirm.mjs'
import { numberOf } from '../cli/options.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { printable } from '../report/columns.mjs'
import { count } from '../report/format.mjs'
import { overrideCells, overridesReport } from '../report/overrides.mjs'
import { isEffective, policiesInFile, policiesInStore } from '../store/known-policies.mjs'
import { policiesOfScopes } from '../store/limiter-of.mjs'

export const overrideActions = {
  overrides: 'the overrides of --limiter that have not ended, and whether they are effective',
  override:
    "KEY, '*' or --key-prefix: other numbers for these keys of --limiter; asks first. Only --policy-file can check the name of --policy",
  remove: 'ID: ends the override of --limiter with this id; asks first',
}

export const overrideOptions = {
  'key-prefix': { type: 'string', help: 'TEXT', about: 'override: all keys that begin with this text' },
  policy: { type: 'string', help: 'NAME', about: 'override: the policy whose limit changes; --scale: default all' },
  add: { type: 'string', help: 'UNITS', about: "override: more units than the policy's limit" },
  scale: { type: 'string', help: 'FACTOR', about: 'override: limits and bursts times this, such as 0.1' },
  policies: { type: 'string', multiple: true, help: 'POLICY', about: 'override: other policies, such as 5/1m' },
  until: { type: 'string', help: 'TIME', about: 'override: 2h, 2100-12-01, or with --policy-file: window' },
  'policy-file': { type: 'string', help: 'FILE', about: 'overrides, override: the policies of the limiter' },
}

const kinds = ['limit', 'add', 'scale', 'policies']

/** @throws UsageError for a line that is not understood, before anything is connected */
export function overrideSettings(action, use, key, values) {
  if (!Object.hasOwn(overrideActions, action)) return undefined
  if (values.limiter === undefined)
    throw new UsageError(`${action} needs the name of a limiter.`, `Write: headgate-lab ${use} ${action} --limiter api`)
  const common = { limiter: values.limiter, scope: values.scope, file: values['policy-file'] }
  if (action !== 'override') return common
  const given = kinds.filter((kind) => values[kind] !== undefined)
  if (given.length !== 1)
    throw new UsageError(
      `override takes exactly one of --limit, --add, --scale and --policies, got ${given.map((kind) => `--${kind}`).join(' and ') || 'none'}.`,
      `Write: headgate-lab ${use} override 203.0.113.7 --limiter api --policy daily --limit 50000 --until 2h`,
    )
  const prefix = values['key-prefix']
  if ((key === undefined) === (prefix === undefined))
    throw new UsageError("override takes a key, '*' for all keys, or --key-prefix.", 'Give one of these.')
  const [kind] = given
  const { policy, until, reason } = values
  if (policy === undefined && values['policy-file'] === undefined && (kind === 'limit' || kind === 'add'))
    throw new UsageError(
      `override --${kind} needs the name of a policy.`,
      'Name it with --policy, or give the policies with --policy-file.',
    )
  if (until === 'window' && values['policy-file'] === undefined)
    throw new UsageError('The store does not say when the windows of a policy end.', 'Give --policy-file, or a time.')
  const number = kind === 'policies' ? values.policies : numberIn(kind, values[kind])
  return { ...common, key, prefix, options: defined({ [kind]: number, policy, until, reason }) }
}

function numberIn(kind, text) {
  return kind === 'scale' ? Number(text) : numberOf(text, kind, 1, Number.MAX_SAFE_INTEGER)
}

function defined(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export const performOverrides = {
  async overrides(store, { override: { limiter, file } }) {
    const found = await withLimiter(store, limiter, policiesOfScopes(['default']), (each) => each.overrides())
    const known = await knownOf(
      store,
      limiter,
      file,
      found.map(({ policy }) => policy),
    )
    const overrides = found.map((each) => shownOf(each, known))
    return { result: { limiter, overrides }, report: overridesReport(store.server, limiter, overrides, known) }
  },

  async override(store, { override, yes }) {
    const { limiter, scope, file, key, prefix, options } = override
    const known = await knownOf(store, limiter, file, [options.policy], scope)
    const target = targetOf(known, { limiter, scope, key, prefix, replaces: options.policies !== undefined })
    if (!yes && !(await confirm(questionOf(override), 'override')))
      return { result: { written: null }, text: 'Nothing was changed.', code: 1 }
    const policies = policiesFor(known, options.policy, scope ?? known.scopes[0])
    const made = await withLimiter(store, limiter, policies, (each) => each.override(target, options))
    const written = shownOf(made, known)
    const report = overridesReport(store.server, limiter, [written], known)
    return {
      result: { limiter, written },
      report: { ...report, title: `Override ${made.id} of ${limiter} is written` },
    }
  },

  async remove(store, { override: { limiter }, filter: { key: id }, yes }) {
    return withLimiter(store, limiter, policiesOfScopes(['default']), async (each) => {
      const found = (await each.overrides()).find((override) => override.id === id)
      const nothing = (text) => ({ result: { removed: null }, text, code: 1 })
      if (found === undefined)
        return nothing(`${limiter} has no override with the id ${printable(id)}. Nothing was changed.`)
      const [, scope, keys, numbers] = overrideCells(
        shownOf(found, { policies: [], scopes: [], named: [], file: undefined }),
      )
      const words = printable(`${id} of ${limiter} (${scope === '' ? '' : `${scope}: `}${keys}, ${numbers})`)
      if (!yes && !(await confirm(`Remove the override ${words}?`, 'remove'))) return nothing('Nothing was changed.')
      await each.removeOverride(id)
      return { result: { limiter, removed: id }, text: `Removed the override ${words}.` }
    })
  },
}

/**
 * Policies with which the library takes an override. A policy that is not known may exist in the application, so the report, and not an
 * error, says whether the override is effective.
 * @param {{ policies: any[] }} known @param {string | undefined} name of the override's policy @param {string} [scope] of its keys
 */
function policiesFor({ policies }, name, scope = 'default') {
  const known = policies.length > 0 ? policies : policiesOfScopes(['default'])
  if (name === undefined || known.some((each) => each.name === name)) return known
  return [...known, policy('1/1s', { name, scope })]
}

function questionOf({ limiter, key, prefix, options: { until, reason: _, ...numbers } }) {
  const keys = prefix === undefined ? (key === '*' ? 'all keys' : key) : `all keys that begin with ${prefix}`
  const words = Object.entries(numbers).map(([name, value]) => `${name} ${value}`)
  return printable(
    `Override ${limiter} for ${keys}: ${words.join(', ')}, ${until === undefined ? 'without an end' : `until ${until}`}?`,
  )
}

/** @param {(string | undefined)[]} names names of policies to look for, of which Redis has only hashes @param {string} [scope] */
async function knownOf(store, limiter, file, names, scope) {
  if (file !== undefined) return policiesInFile(file, limiter)
  return policiesInStore(store.inspectorOf(names.filter((name) => name !== undefined)), limiter, scope)
}

/** The target as the library takes it. @throws UsageError if the scope of the keys is not known */
function targetOf({ scopes }, { limiter, scope, key, prefix, replaces }) {
  if (key === '*' && scope === undefined && !replaces) return '*'
  const own = scope ?? onlyScope(scopes, limiter)
  if (prefix !== undefined || key === '*') return { scope: own, prefix: prefix ?? '' }
  return { [own]: key }
}

function onlyScope(scopes, limiter) {
  if (scopes.length === 1) return scopes[0]
  if (scopes.length > 1)
    throw new UsageError(`${limiter} has the scopes ${scopes.join(', ')}.`, 'Name the scope of the keys with --scope.')
  throw new UsageError(
    `The store has no key of the limiter ${limiter} yet.`,
    'Name the scope of the keys with --scope, or give the policies with --policy-file.',
  )
}

/** An override for people and for JSON. */
function shownOf(override, known) {
  const policies = override.policies?.map((policy) => {
    if (policy === undefined) return null // written by another version of headgate
    const { name, limit, window, burst, algorithm } = policy
    return { name, kind: algorithm.kind, limit, window, burst }
  })
  return { ...override, ...(policies && { policies }), effective: isEffective(override, known) }
}

/**
 * A sentence for each of these limiters that has overrides. The store has the numbers of a key's last admitted call, so the lab does not
 * know what an override has changed since.
 * @param {Set<string | undefined>} limiters
 */
export async function overridesFacts(store, limiters) {
  const facts = []
  for (const name of limiters) {
    if (name === undefined) continue // of a long key, Redis has only a hash
    const read = withLimiter(store, name, policiesOfScopes(['default']), (each) => each.overrides())
    const found = await read.catch(() => []) // maybe the user of the lab must not read them
    if (found.length === 0) continue
    const many = found.length === 1 ? 'an override' : `${count(found.length)} overrides`
    facts.push(
      `${printable(name)} has ${many}. A key is shown as at its last admitted call, maybe before: see overrides.`,
    )
  }
  return facts
}

async function withLimiter(store, name, policies, act) {
  const limiter = store.limiterOf(name, policies)
  try {
    return await act(limiter)
  } finally {
    limiter.close()
  }
}

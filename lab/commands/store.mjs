/* Commands for operators: they show and change the keys in Redis, Postgres or a file of SQLite, given only its URL or path. */
import { confirm } from '../cli/confirm.mjs'
import { helpOf, numberOf, oneOf } from '../cli/options.mjs'
import { countBar } from '../cli/progress.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { printable } from '../report/columns.mjs'
import { count } from '../report/format.mjs'
import { checkReport, inspectionReport, keysReport } from '../report/store.mjs'
import { banKey } from '../store/ban-key.mjs'
import { Look, orders, rowOf } from '../store/rank.mjs'
import { watch } from '../store/watch.mjs'
import { overrideActions, overrideOptions, overrideSettings, overridesFacts, performOverrides } from './overrides.mjs'

const actions = {
  top: 'the keys that are refused for longest, then those that have used most of their limit; live on a terminal',
  list: 'the keys that limiters keep; --refused for those that are refused now',
  inspect: 'KEY: each policy of the key, in a sentence',
  ban: 'KEY --for 1h: refuses the key until the ban ends; asks first',
  unban: 'KEY: lifts its ban, by hand or by a penalty; asks first',
  reset: 'KEY: deletes the key, so that it has its full quota; asks first',
  watch: 'the same as top, and one table after the other where there is no terminal',
  ...overrideActions,
  check: 'the server, its settings and rights, the clock, and the layout of the keys',
}
const withKey = ['inspect', 'ban', 'unban', 'reset', 'remove']

const shared = {
  json: { type: 'boolean', about: 'print the result as JSON' },
  prefix: { type: 'string', default: 'headgate', help: 'PREFIX', about: 'the prefix of the store' },
  limiter: { type: 'string', help: 'NAME', about: 'only keys of this limiter' },
  scope: { type: 'string', help: 'NAME', about: 'only keys of this scope' },
  for: { type: 'string', help: 'TIME', about: 'ban: how long, such as 1h, or forever' },
  reason: { type: 'string', help: 'TEXT', about: 'ban and override: why; the decision of a call has it' },
  ...overrideOptions,
  limit: {
    type: 'string',
    help: 'NUMBER',
    about: "the most keys to show (default 20); override: the limit in place of the policy's",
  },
  by: { type: 'string', default: 'refused', help: 'ORDER', about: `top and watch: by ${orders.join(', ')}` },
  refused: { type: 'boolean', about: 'list, top and watch: only keys that are refused now' },
  every: { type: 'string', default: '2', help: 'SECONDS', about: 'top and watch: how often to look' },
  frames: { type: 'string', help: 'NUMBER', about: 'watch: end after so many; without a terminal, 1' },
  yes: { type: 'boolean', about: 'do not ask before a change' },
  help: { type: 'boolean', about: 'list the options' },
}

const names = { redis: 'Redis', postgres: 'Postgres', sqlite: 'a file of SQLite' }

/** The command of one kind of store. @param open connects, from the URL and the options */
export function storeCommand(kind, example, own, open) {
  const use = `${kind} ${example} top`
  const options = { ...own, ...shared }
  const list = Object.entries(actions).map(([name, about]) => `  ${name.padEnd(10)} ${about}`)
  return {
    summary: `what limiters keep in ${names[kind]}: ${Object.keys(actions).join(', ')}`,
    use,
    options,
    common: {},
    help: `${helpOf(`${kind} ${kind === 'sqlite' ? '<file>' : '<url>'} <action> [options]`, options, {})}\n\nActions:\n${list.join('\n')}`,
    positionals: 3,
    run: (values) => run(kind, use, values, open),
  }
}

async function run(kind, use, values, open) {
  const settings = settingsOf(kind, use, values)
  const store = await open(settings.url, values)
  try {
    return await perform[settings.action](store, settings)
  } finally {
    await store.close()
  }
}

/** @throws UsageError for a line that is not understood, before anything is connected */
function settingsOf(kind, use, { positionals: [url, action, key], ...values }) {
  if (url === undefined) {
    const missing = kind === 'sqlite' ? 'file' : 'connection string'
    throw new UsageError(`No ${missing} is given.`, `Write: headgate-lab ${use}`)
  }
  if (action === undefined)
    throw new UsageError('No action is given.', `The actions are ${Object.keys(actions).join(', ')}.`)
  if (!Object.hasOwn(actions, action))
    throw new UsageError(
      `${kind} has no action ${JSON.stringify(action)}.`,
      `The actions are ${Object.keys(actions).join(', ')}.`,
    )
  const needsKey = withKey.includes(action)
  if (needsKey && key === undefined) {
    const [what, example] = action === 'remove' ? ['the id of an override', '7'] : ['a key', '203.0.113.7']
    throw new UsageError(`${action} needs ${what}.`, `Write: headgate-lab ${kind} <url> ${action} ${example}`)
  }
  if (!needsKey && action !== 'override' && key !== undefined)
    throw new UsageError(`${action} takes no key, got ${JSON.stringify(key)}.`, 'Use inspect for one key.')
  if (action === 'ban' && values.for === undefined)
    throw new UsageError(
      'ban needs a time.',
      `Write: headgate-lab ${kind} <url> ban 203.0.113.7 --for 1h --reason scans`,
    )
  const terminal = process.stdout.isTTY === true && values.json !== true
  return {
    url,
    action,
    filter: { limiter: values.limiter, scope: values.scope, key },
    none: `No keys found under the prefix ${JSON.stringify(values.prefix)}.`,
    most: action === 'override' ? 0 : numberOf(values.limit ?? '20', 'limit', 1, 100_000),
    order: oneOf(values.by, 'by', orders),
    refused: values.refused === true,
    interval: numberOf(values.every, 'every', 1, 86_400) * 1000,
    frames: values.frames === undefined ? (terminal ? Infinity : 1) : numberOf(values.frames, 'frames', 1, 1_000_000),
    json: values.json === true,
    yes: values.yes === true,
    ban: { duration: values.for, reason: values.reason },
    override: overrideSettings(action, `${kind} <url>`, key, values),
  }
}

const perform = {
  async top(store, settings) {
    const { server, inspector } = store
    const { filter, most, order, none, refused: refusedOnly } = settings
    if (process.stdout.isTTY === true && !settings.json) return perform.watch(store, settings)
    const look = new Look(most, [order])
    const bar = countBar('keys')
    const limiters = new Set()
    try {
      for await (const stored of inspector.list(filter)) {
        look.add(rowOf(stored))
        limiters.add(stored.limiter)
        bar.lines(look.keys)
      }
    } finally {
      bar.stop()
    }
    const { keys, refused } = look
    const rows = look.rows(order, refusedOnly)
    const found = `${count(keys)} ${keys === 1 ? 'key' : 'keys'}, ${count(refused)} refused now`
    const facts = [found, ...(settings.json ? [] : await overridesFacts(store, limiters))]
    return {
      result: { keys, refused, top: rows },
      report: keysReport({ title: `Top by ${order}`, server, facts, rows, none }),
    }
  },

  async list(store, { filter, most, refused, none, json }) {
    const { server, inspector } = store
    const rows = []
    const limiters = new Set()
    for await (const stored of inspector.list(filter)) {
      const row = rowOf(stored)
      limiters.add(stored.limiter)
      if (refused && !row.refused) continue
      rows.push(row)
      if (rows.length === most) break
    }
    const first = rows.length === most ? [`The first ${count(most)}; --limit shows more`] : []
    const facts = [...first, ...(json ? [] : await overridesFacts(store, limiters))]
    return {
      result: { keys: rows },
      report: keysReport({
        title: refused ? 'Refused now' : 'Keys',
        server,
        facts,
        rows,
        none: refused ? 'No key is refused now.' : none,
      }),
    }
  },

  async inspect(store, settings) {
    const found = await find(store, settings)
    const limiters = new Set(found.map(({ limiter }) => limiter))
    const facts = [store.server, ...(settings.json ? [] : await overridesFacts(store, limiters))]
    return { result: { keys: found }, report: inspectionReport(facts, found), code: found.length === 0 ? 1 : 0 }
  },

  async ban(store, settings) {
    const { duration, reason } = settings.ban
    const found = await find(store, settings)
    const { limiter, scope = 'default', key } = settings.filter
    if (found.length === 0 && limiter === undefined)
      throw new UsageError(
        'There is no such key yet.',
        'Name the limiter that is to refuse the key: --limiter api, and its --scope.',
      )
    const keys = found.length > 0 ? found : [{ limiter, scope, key, storeKey: `${limiter}, ${scope}: ${key}` }]
    const words = { none: '', question: `Ban for ${duration}`, done: 'Banned', field: 'banned' }
    // Of a long key, the store has only a hash, so the names on the command line count.
    const named = (stored) => ({
      limiter: stored.limiter ?? limiter,
      scope: stored.scope ?? (limiter === undefined ? undefined : scope),
      key: stored.key ?? (key === stored.hash ? undefined : key),
    })
    return change(keys, settings, words, (_storeKey, stored) => banKey(store, named(stored), duration, reason))
  },

  async unban(store, settings) {
    const found = await find(store, settings)
    const banned = found.filter((stored) => rowOf(stored).bannedFor > 0)
    const none = found.length === 0 ? 'There is no such key.' : 'The key is not banned.'
    return change(banned, settings, { none, question: 'Unban', done: 'Unbanned', field: 'unbanned' }, (storeKey) =>
      store.inspector.unban(storeKey),
    )
  },

  async reset(store, settings) {
    const found = await find(store, settings)
    const words = { none: 'There is no such key.', question: 'Delete', done: 'Deleted', field: 'deleted' }
    return change(found, settings, words, (storeKey) => store.inspector.reset(storeKey))
  },

  async watch(store, settings) {
    await watch(store, settings)
    return undefined
  },

  ...performOverrides,

  async check({ server, check }) {
    const checks = await check()
    const code = checks.some(({ status }) => status === 'problem') ? 1 : 0
    return { result: { server, checks }, report: checkReport(server, checks), code }
  },
}

/** Changes each of the keys, after the user has confirmed it. */
async function change(found, { action, yes }, { none, question, done, field }, act) {
  const storeKeys = found.map(({ storeKey }) => storeKey)
  const names = storeKeys.map(printable).join(', ')
  const nothing = (text) => ({ result: { [field]: [] }, text, code: 1 })
  if (found.length === 0) return nothing(`${none} Nothing was changed.`)
  if (!yes && !(await confirm(`${question} ${names}?`, action))) return nothing('Nothing was changed.')
  for (const stored of found) await act(stored.storeKey, stored)
  return { result: { [field]: storeKeys }, text: `${done} ${names}.`, code: 0 }
}

async function find({ inspector }, { filter }) {
  const found = []
  for await (const stored of inspector.list(filter)) found.push(stored)
  return found
}

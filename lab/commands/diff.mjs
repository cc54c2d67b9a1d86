import { logFiles, logSettings } from '../cli/log-settings.mjs'
import { helpOf, logOptions } from '../cli/options.mjs'
import { checkRate, openPolicies } from '../cli/policies.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { Diff } from '../engine/diff.mjs'
import { diffReport } from '../report/diff.mjs'
import { readLog } from './read-log.mjs'

const use = 'diff old.json new.json access.log'
const options = {
  limiter: { type: 'string', help: 'NAME', about: 'which limiter of the files, if there are several' },
  plan: { type: 'string', help: 'NAME', about: 'which of its plans (default: the policies of the limiter)' },
  ...logOptions,
}

export const diff = {
  summary: 'who a new policy file would refuse in an access log, and who no longer',
  use,
  options,
  help: helpOf(use, options),
  takesFiles: true,
  run,
}

async function run({ positionals: [oldFile, newFile, ...logs], ...options }) {
  if (newFile === undefined) throw new UsageError('Two policy files are needed.', `Write: headgate-lab ${use}`)
  const settings = logSettings(options)
  const files = [oldFile, newFile].map((path) => ({ path, policies: openPolicies(path) }))
  const limiter = options.limiter ?? onlyOne(files, (limiters) => limiters.keys(), 'limiter')
  const plan = options.plan ?? planOf(files, limiter)
  const [old, now] = files.map(({ path, policies }) => playable(path, policies.plan(limiter, plan)))
  const played = new Diff(old, now)
  const log = await readLog(logFiles({ positionals: logs }, use), settings, (client, record) =>
    played.request(client, record),
  )
  const place = { limiter, ...(plan !== undefined && { plan }) }
  const result = { command: 'diff', key: settings.key, oldFile, newFile, ...place, log, ...played.result() }
  return {
    result,
    report: diffReport(result),
    worst: { what: `${newFile} newly refuses`, share: result.newlyRefused.share },
  }
}

/** The plan without a name, unless both files have named plans only: then the only one. */
function planOf(files, limiter) {
  const found = files.map(({ policies }) => policies.limiters().get(limiter))
  if (found.some((each) => each === undefined || each.own !== undefined)) return undefined
  return onlyOne(files, (limiters) => limiters.get(limiter).plans.keys(), 'plan')
}

/** The name that both files have, and no other. @throws UsageError if there are several or none */
function onlyOne(files, namesIn, kind) {
  const names = new Set(files.flatMap(({ policies }) => [...namesIn(policies.limiters())]))
  if (names.size === 1) return [...names][0]
  if (names.size === 0) throw new UsageError(`The files have no ${kind} to compare.`, 'See headgate-lab lint.')
  throw new UsageError(`The files have several ${kind}s: ${[...names].join(', ')}.`, `Name one with --${kind}.`)
}

/** @throws UsageError for a plan with a policy that a log cannot play */
function playable(path, plan) {
  if (plan !== 'unlimited') for (const policy of plan.policies) checkRate(policy, `${path}: ${policy.name}`)
  return plan
}

import { helpOf } from '../cli/options.mjs'
import { openPolicies } from '../cli/policies.mjs'
import { UsageError } from '../cli/usage-error.mjs'
import { findingsIn } from '../lint/findings.mjs'
import { printable } from '../report/columns.mjs'
import { count } from '../report/format.mjs'

const use = 'lint policies.json'
const options = {
  json: { type: 'boolean', about: 'print the result as JSON' },
  help: { type: 'boolean', about: 'list the options' },
}

export const lint = {
  summary: 'mistakes in a policy file; exits with code 1 for a warning, and 2 for an invalid file',
  use,
  options,
  common: {},
  help: helpOf(use, options, {}),
  positionals: 1,
  run,
}

function run({ positionals: [file] }) {
  if (file === undefined) throw new UsageError('No policy file is given.', `Write: headgate-lab ${use}`)
  const limiters = openPolicies(file).limiters()
  const warnings = findingsIn(limiters)
  const result = { command: 'lint', file, limiters: [...limiters.keys()], warnings }
  return { result, text: textOf(result), code: warnings.length === 0 ? 0 : 1 }
}

function textOf({ file, limiters, warnings }) {
  const number = warnings.length === 1 ? '1 warning' : `${count(warnings.length)} warnings`
  const ofLimiters = limiters.length === 1 ? '1 limiter' : `${count(limiters.length)} limiters`
  return [...warnings.map(lineOf), `${file}: ${ofLimiters}, ${number}`].map(printable).join('\n')
}

/** Such as `api, plan pro, 30d: A window of 30 days ...`. */
function lineOf({ limiter, plan, candidate, policy, problem, fix }) {
  const places = [
    [plan, `plan ${plan}`],
    [candidate, 'candidate'],
    [policy, policy],
  ]
  const place = [limiter, ...places.flatMap(([given, words]) => (given === undefined ? [] : words))]
  return `${place.join(', ')}: ${problem} ${fix}`
}

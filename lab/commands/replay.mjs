import { logFiles, logSettings } from '../cli/log-settings.mjs'
import { helpOf, logOptions, numberOf } from '../cli/options.mjs'
import { policiesOf } from '../cli/policies.mjs'
import { Replay } from '../engine/replay.mjs'
import { replayReport } from '../report/replay.mjs'
import { follow } from './follow.mjs'
import { readLog } from './read-log.mjs'

const use = `replay access.log --policy '30/1m' --policy '10/1s burst 20'`
const options = {
  policy: { type: 'string', multiple: true, help: 'POLICY', about: 'a limit to try; give several to compare them' },
  follow: { type: 'boolean', about: 'goes on with a log that is still written; q ends it' },
  frames: { type: 'string', help: 'NUMBER', about: 'follow: end after so many tables' },
  ...logOptions,
}

export const replay = {
  summary: 'what each policy would have refused in an access log',
  use,
  options,
  help: helpOf(use, options),
  takesFiles: true,
  run,
}

async function run(options) {
  const policies = policiesOf(options.policy, use)
  const settings = logSettings(options)
  if (options.follow) {
    const frames = options.frames === undefined ? Infinity : numberOf(options.frames, 'frames', 1, 1_000_000)
    return follow(logFiles(options, use), settings, policies, { frames, json: options.json === true })
  }
  const played = new Replay(policies)
  const log = await readLog(logFiles(options, use), settings, (client, record) => played.request(client, record))
  const result = { command: 'replay', key: settings.key, log, ...played.result() }
  const worst = result.policies.reduce((a, b) => (b.refusedShare > a.refusedShare ? b : a))
  return { result, report: replayReport(result), worst: { what: `${worst.policy} refuses`, share: worst.refusedShare } }
}

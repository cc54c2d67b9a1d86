import { logFile, logSettings } from '../cli/log-settings.mjs'
import { helpOf, logOptions, shareOf } from '../cli/options.mjs'
import { Suggestion } from '../engine/suggest.mjs'
import { suggestReport } from '../report/suggest.mjs'
import { readLog } from './read-log.mjs'

const use = 'suggest access.log --affect 0.1%'
const options = {
  affect: { type: 'string', default: '1%', help: 'SHARE', about: 'the most clients that a limit may affect' },
  ...logOptions,
}

export const suggest = {
  summary: 'limits that fit the traffic of an access log',
  use,
  options,
  help: helpOf(use, options),
  takesFile: true,
  run,
}

async function run(options) {
  const settings = logSettings(options)
  const affect = shareOf(options.affect, 'affect')
  const suggestion = new Suggestion()
  const log = await readLog(logFile(options, use), settings, (client, record) => suggestion.request(client, record))
  const result = { command: 'suggest', key: settings.key, log, ...suggestion.result(affect) }
  const worst = result.windows
    .map(({ suggested }) => suggested)
    .reduce((a, b) => (b.refusedShare > a.refusedShare ? b : a))
  return {
    result,
    report: suggestReport(result),
    worst: { what: `${worst.policy} refuses`, share: worst.refusedShare },
  }
}

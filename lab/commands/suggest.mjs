import { logFiles, logSettings } from '../cli/log-settings.mjs'
import { helpOf, logOptions, oneOf, shareOf } from '../cli/options.mjs'
import { workBar } from '../cli/progress.mjs'
import { Suggestion } from '../engine/suggest.mjs'
import { frameworks } from '../report/framework-code.mjs'
import { suggestReport } from '../report/suggest.mjs'
import { readLog } from './read-log.mjs'

const use = 'suggest access.log --affect 0.1%'
const options = {
  affect: { type: 'string', default: '1%', help: 'SHARE', about: 'the most clients that a limit may affect' },
  refuse: { type: 'string', default: '1%', help: 'SHARE', about: 'the most requests that a limit may refuse' },
  framework: {
    type: 'string',
    default: 'express',
    help: 'NAME',
    about: `whose code to print: ${frameworks.join(', ')}`,
  },
  ...logOptions,
}

export const suggest = {
  summary: 'limits that fit the traffic of an access log',
  use,
  options,
  help: helpOf(use, options),
  takesFiles: true,
  run,
}

async function run(options) {
  const settings = logSettings(options)
  const bounds = { affect: shareOf(options.affect, 'affect'), refuse: shareOf(options.refuse, 'refuse') }
  const framework = oneOf(options.framework, 'framework', frameworks)
  const suggestion = new Suggestion()
  const log = await readLog(logFiles(options, use), settings, (client, record) => suggestion.request(client, record))
  const began = performance.now()
  const bar = workBar('limits are tried')
  try {
    const found = await suggestion.result(bounds, bar.done)
    const seconds = (performance.now() - began) / 1000
    const result = { command: 'suggest', key: settings.key, log, seconds, ...found }
    const { policy, refusedShare } = found.verdict
    return {
      result,
      report: suggestReport(result, framework),
      worst: { what: `${policy} refuses`, share: refusedShare },
    }
  } finally {
    bar.stop()
  }
}

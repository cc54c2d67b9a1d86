import { statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { printableJson } from '../report/columns.mjs'
import { htmlOf } from '../report/html.mjs'
import { textOf } from '../report/text.mjs'
import { UsageError } from './usage-error.mjs'

/**
 * Prints the outcome of a command, and returns the exit code: the outcome's code if it has one, else 1 if a share is
 * above `--fail-above`, else 0. The outcome is undefined if the command has printed by itself.
 * @param {{ result: object, report?: import('../report/text.mjs').Report, text?: string, code?: number, worst?: { what: string, share: number } } | undefined} outcome
 */
export function finish(outcome, options) {
  if (outcome === undefined) return 0
  const { result, report, text, worst, code = 0 } = outcome
  if (options.html !== undefined) writeFileSync(options.html, htmlOf(report))
  console.log(options.json ? printableJson(result, 2) : (text ?? textOf(report)))
  const limit = options['fail-above']
  if (worst === undefined) return code
  if (limit === undefined || worst.share <= limit) return 0
  console.error(`${worst.what}: ${percent(worst.share)} of the requests, and --fail-above is ${percent(limit)}.`)
  return 1
}

function percent(share) {
  return `${Number((share * 100).toPrecision(3))} %`
}

/** The arguments without `--no-color`, which other tools need: the lab prints no colours. */
export function plainOutput(argv) {
  return argv.filter((each) => each !== '--no-color')
}

/** A report that cannot be written must not cost the whole work first. @throws UsageError */
export function checkFolder(file) {
  const folder = dirname(file)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(
      `There is no folder ${folder} for the report.`,
      'Make the folder, or name another file with --html.',
    )
  }
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`${file} is a folder.`, 'Name a file with --html, such as report.html.')
  }
}

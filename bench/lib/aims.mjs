import { find, value } from './rows.mjs'
import { shown } from './statistics.mjs'

/** Compares each aim with its measured figure: reached or missed. An aim is a figure, or a ratio `to` a target. */
export function check(suite, result) {
  return judged(suite, result).map(
    ({ reached, what, came, aim }) => `${reached ? 'reached' : 'MISSED '} ${what}: ${came}, aim ${aim}`,
  )
}

export function judged(suite, result) {
  return suite.aims.flatMap((aim) => {
    const came = figure(suite, result, aim)
    if (came === undefined || Number.isNaN(came)) return []
    const { workload, target, metric, to, most = Infinity, least = -Infinity, within = '' } = aim
    const unit = to === undefined ? ` ${label(suite, workload, metric)}` : ' x'
    return {
      reached: came <= most && came >= least,
      what: `${workload}, ${target}${to === undefined ? '' : ` to ${to}`}${within}`,
      came: `${shown(came)}${unit}`,
      aim: most === Infinity ? `at least ${shown(least)}` : `at most ${shown(most)}`,
    }
  })
}

function figure(suite, result, { workload, target, metric, to }) {
  const terms = suite.workloads.find(({ name }) => name === workload)
  const own = value(result, terms, find(result, workload, target), metric)
  return to === undefined ? own : own / value(result, terms, find(result, workload, to), metric)
}

function label(suite, workload, metric) {
  const { columns } = suite.workloads.find(({ name }) => name === workload)
  return columns.find((column) => column.metric === metric)?.label ?? metric
}

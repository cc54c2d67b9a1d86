/**
 * A suite says what is measured and how it is shown. It measures nothing until one of its cases runs.
 *
 * - `workloads`: what is measured, in the order of the tables: `{ name, about, metric, columns, ratio, plot }`
 * - `cases`: which targets: `{ workload, target, kind, x, quick, flags, measure }`; `measure` runs in a process of its own
 * - `aims`: the figures that the results are compared with
 *
 * @param {{ name: string, title: string, rounds: number, redis?: boolean, workloads: any[], cases: any[], aims?: any[] }} suite
 */
export function defineSuite(suite) {
  const cases = suite.cases.map((each) => ({ ...each, id: idOf(each) }))
  if (new Set(cases.map(({ id }) => id)).size !== cases.length) throw new Error(`${suite.name}: a case appears twice`)
  for (const { workload, target } of suite.aims ?? []) {
    if (!cases.some((each) => each.workload === workload && each.target === target)) {
      throw new Error(`${suite.name}: no case for the aim of ${workload}, ${target}`)
    }
  }
  return { aims: [], redis: false, ...suite, cases }
}

function idOf({ workload, target, x }) {
  return x === undefined ? `${workload}: ${target}` : `${workload}: ${target}: ${x}`
}

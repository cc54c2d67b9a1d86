/** The rows of one workload, in the order of the suite. */
export function rowsOf(result, workload) {
  return result.rows.filter((row) => row.workload === workload)
}

export function find(result, workload, target, x) {
  return result.rows.find((row) => row.workload === workload && row.target === target && row.x === x)
}

/** The median of a metric. If a workload names a floor, `<metric>Added` is the difference to it. */
export function value(result, workload, row, metric) {
  const measured = row?.metrics[metric]?.median
  if (measured !== undefined || !metric.endsWith('Added') || row === undefined) return measured
  const own = metric.slice(0, -'Added'.length)
  return row.metrics[own]?.median - find(result, workload.name, workload.floor, row.x)?.metrics[own]?.median
}

/** A limit that people can remember: the mantissas of round limits. */
const round = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
/** A window in which few requests fit makes clients wait for long, and rounding it changes much. */
const enough = 10

/**
 * The window to begin with: the shortest from a minute on that the log is long enough for, and in which the limit is at least 10. If there is
 * none, a minute.
 */
export function verdictWindow(rows, span, windows) {
  const usual = rows.filter(
    ({ window }) => windows[window] >= windows['1m'] && windows[window] <= Math.max(span, windows['1m']),
  )
  return usual.find(({ suggested }) => suggested.limit >= enough) ?? usual[0]
}

/** The least round number that is not below the limit. */
export function roundLimit(limit) {
  const power = 10 ** Math.floor(Math.log10(limit))
  return round.map((each) => Math.round(each * power)).find((each) => each >= limit) ?? limit
}

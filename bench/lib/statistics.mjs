export function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
}

/** The figures of a table from the rounds of one case. */
export function summary(numbers) {
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers) }
}

/** A number with at most three or four digits, easy to read: 0.083, 4.2, 731, 1,260,000. */
export function shown(number) {
  if (number === undefined || Number.isNaN(number)) return ''
  const size = Math.abs(number)
  if (size >= 1e4) return (Math.round(number / 100) * 100).toLocaleString('en-US')
  if (size >= 100) return Math.round(number).toLocaleString('en-US')
  return number.toFixed(size >= 10 ? 1 : size >= 0.095 || size === 0 ? 2 : 3)
}

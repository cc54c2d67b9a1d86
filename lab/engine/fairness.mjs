/**
 * Jain's index of fairness: 1 if all have the same, 1/n if one has everything. R. Jain, D. Chiu, W. Hawe: "A Quantitative
 * Measure of Fairness and Discrimination" (1984).
 * @param {number[]} amounts
 */
export function fairness(amounts) {
  const sum = amounts.reduce((a, b) => a + b, 0)
  const squares = amounts.reduce((a, b) => a + b * b, 0)
  return squares === 0 ? 1 : (sum * sum) / (amounts.length * squares)
}

/**
 * The most of these times that fall into any window (t - window, t].
 * @param {ArrayLike<number>} times in order
 * @param {number} window in the unit of the times
 */
export function mostInWindow(times, window) {
  let most = 0
  let first = 0
  for (let n = 0; n < times.length; n++) {
    while (times[first] <= times[n] - window) first++
    most = Math.max(most, n - first + 1)
  }
  return most
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000,
]
const day = 86_400_000

/** The least step of ticks that leaves space for its text. */
export function tickStep(least) {
  return [...steps, 21_600_000, day, 2 * day, 7 * day, 14 * day].find((step) => step >= least) ?? 60 * day
}

/**
 * A time from the start, in words. @param start the date of time 0; then the text is a time of day or a date, in UTC
 * @param step the step of the ticks: a text has no more digits than it needs
 */
export function timeText(time, start, step = 1) {
  if (start !== undefined) {
    const iso = new Date(start + time).toISOString()
    return step >= day || iso.slice(11, 19) === '00:00:00' ? iso.slice(0, 10) : iso.slice(11, step < 1000 ? 23 : 19)
  }
  if (time < 120_000) return `${Math.round(time) / 1000} s`
  if (time >= 4 * day) return `day ${Math.floor(time / day) + 1}`
  const minutes = Math.floor(time / 60_000)
  const seconds = Math.round((time % 60_000) / 1000)
  if (minutes < 120) return seconds === 0 ? `${minutes} min` : `${minutes} min ${seconds} s`
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`
}

/** A wait in words. */
export function waitText(milliseconds) {
  if (milliseconds === Infinity) return 'never'
  if (milliseconds < 1000) return `${milliseconds} ms`
  if (milliseconds < 120_000) return `${(milliseconds / 1000).toFixed(1)} s`
  return milliseconds < 2 * 3_600_000
    ? `${Math.ceil(milliseconds / 60_000)} min`
    : `${(milliseconds / 3_600_000).toFixed(1)} h`
}

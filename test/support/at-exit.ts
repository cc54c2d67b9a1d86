/** Functions to run when the process ends, the last one first. One listener for all: the files of a tier share a process. */
const cleanups: (() => void)[] = []

process.once('exit', () => {
  for (const cleanup of cleanups.toReversed()) cleanup()
})

// The workers of Vitest are ended by this signal, which by itself ends a process at once.
process.once('SIGTERM', () => process.exit(143))

export function atExit(cleanup: () => void): void {
  cleanups.push(cleanup)
}

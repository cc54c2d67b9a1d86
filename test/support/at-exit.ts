/** Functions to run when the process ends, the last one first. One listener for all: the files of a tier share a process. */
const cleanups: (() => void)[] = []

process.once('exit', () => {
  for (const cleanup of cleanups.toReversed()) cleanup()
})

export function atExit(cleanup: () => void): void {
  cleanups.push(cleanup)
}

/** Functions to run when the process ends. One listener for all of them: the files of a tier share a process. */
const cleanups: (() => void)[] = []

process.once('exit', () => {
  for (const cleanup of cleanups) cleanup()
})

export function atExit(cleanup: () => void): void {
  cleanups.push(cleanup)
}

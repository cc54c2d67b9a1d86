import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The lines of a file as they are written: those that it has, then new ones. Yields an array of lines in each interval, also an empty one. A
 * file that has become shorter, or that another file has replaced, is read from its beginning.
 * @param {string} file
 * @param {{ signal: AbortSignal, interval?: number }} settings `interval` in milliseconds
 */
export async function* followLines(file, { signal, interval = 250 }) {
  let [at, rest, inode] = [0, '', undefined]
  const decoder = new TextDecoder()
  while (!signal.aborted) {
    const lines = []
    const handle = await open(file).catch(() => undefined) // between two files of a rotation there is none
    try {
      const found = await handle?.stat()
      if (found !== undefined && (found.ino !== inode || found.size < at)) {
        at = 0
        inode = found.ino
      }
      for await (const bytes of handle?.createReadStream({ start: at, autoClose: false }) ?? []) {
        at += bytes.length
        const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
        rest = parts.pop()
        lines.push(...parts)
      }
    } finally {
      await handle?.close()
    }
    yield lines
    await sleep(interval, undefined, { signal }).catch(() => {})
  }
}

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { PassThrough, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** A longer line is cut: a file without line ends must not fill the memory. */
const maxLine = 1 << 20

/**
 * The lines of a file, or of the standard input for `-`. Yields an array of lines for each chunk that was read. Gzip is
 * recognised by its first bytes.
 * @param {string} file
 * @param {(bytes: number) => void} [onRead] called with the number of bytes read from the file
 */
export async function* readLines(file, onRead) {
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 1 << 18 })
  let rest = ''
  for await (const text of (await unzipped(source, onRead)).setEncoding('utf8')) {
    const lines = (rest + text).split('\n')
    rest = lines.pop().slice(0, maxLine)
    yield lines
  }
  if (rest !== '') yield [rest]
}

/** The bytes of all files together; undefined if one is the standard input. */
export async function sizeOf(files) {
  if (files.includes('-')) return undefined
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

async function unzipped(source, onRead) {
  const input = new PassThrough({ highWaterMark: 1 << 18 })
  source.on('data', (chunk) => onRead?.(chunk.length))
  pipeline(source, input, () => {})
  const first = await firstChunk(input)
  if (first === null || first[0] !== 0x1f || first[1] !== 0x8b) return input
  return pipeline(input, createGunzip(), () => {})
}

/** Reads the first chunk without removing it from the stream. */
async function firstChunk(input) {
  await new Promise((resolve, reject) => input.once('readable', resolve).once('error', reject).once('end', resolve))
  const chunk = input.read()
  if (chunk !== null) input.unshift(chunk)
  return chunk
}

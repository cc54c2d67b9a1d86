import { UsageError } from '../cli/usage-error.mjs'
import { readLines } from './read-lines.mjs'

/**
 * Yields the records of logs as one log, in batches: the log whose next record is the earliest goes on. So logs of one server that
 * were rotated may be named in any order, and logs of several servers become one.
 * @param {Map<string, import('./parse-lines.mjs').LineParser>} parsers the parser of each file
 * @param {(bytes: number) => void} [onRead] called with the number of bytes read
 */
export async function* mergeLogs(parsers, onRead) {
  let logs = await Promise.all(Array.from(parsers, ([file, parser]) => new Log(file, parser, onRead).next()))
  while (logs.length > 1) {
    logs = logs.filter(({ ended }) => !ended).sort((a, b) => a.time - b.time)
    const [first, second] = logs
    if (second === undefined) break
    yield first.upTo(second.time)
    await first.next()
  }
  for (const log of logs) {
    while (!log.ended) {
      yield log.upTo(Infinity)
      await log.next()
    }
  }
}

/** The records of one file, a batch at a time. */
class Log {
  ended = false
  #file
  #batches
  #parser
  #records = []
  #from = 0

  constructor(file, parser, onRead) {
    this.#file = file
    this.#parser = parser
    this.#batches = readLines(file, onRead)
  }

  /** The time of the next record. */
  get time() {
    return this.#records[this.#from].time
  }

  /** The next records, up to the first one that is later than `time`. */
  upTo(time) {
    const from = this.#from
    while (this.#from < this.#records.length && this.#records[this.#from].time <= time) this.#from++
    return this.#records.slice(from, this.#from)
  }

  /** Reads on, if no record is left. */
  async next() {
    while (this.#from === this.#records.length && !this.ended) {
      const { done, value } = await this.#read()
      this.ended = done === true
      this.#records = done ? [] : this.#recordsOf(value)
      this.#from = 0
    }
    return this
  }

  #recordsOf(lines) {
    const records = []
    for (const line of lines) {
      const record = this.#parser.record(line)
      if (record !== undefined) records.push(record)
    }
    return records
  }

  /** @throws UsageError if the file cannot be read */
  async #read() {
    try {
      return await this.#batches.next()
    } catch (error) {
      if (error.code === undefined) throw error
      const name = this.#file === '-' ? 'The standard input' : this.#file
      throw new UsageError(`${name} cannot be read: ${error.message}.`, 'Give a whole log, plain or gzip.')
    }
  }
}

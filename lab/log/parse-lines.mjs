import { commonLog } from './common-log.mjs'
import { fieldList } from './field-list.mjs'
import { jsonLines, pathsOf } from './json-lines.mjs'
import { loadBalancer } from './load-balancer.mjs'
import { envoy, haproxy } from './proxies.mjs'

const formats = [jsonLines, fieldList, loadBalancer, envoy, haproxy, commonLog]

export const formatNames = formats.map(({ name }) => name)

/** Windows may write it in front of a file. A log may be several files that were joined. */
const byteOrderMark = '\uFEFF'
/** How many bad lines are kept for the report. */
const shown = 3
/** How many JSON lines are looked at for the names of their fields. */
const looked = 20

/**
 * Parses the lines of a log. Its lines may be of several formats. A line that cannot be parsed is counted and never fatal. Runs in a
 * browser too.
 */
export class LineParser {
  lines = 0
  bad = 0
  /** The first bad lines: their numbers and texts. */
  badLines = []
  /** The names of the formats that had a record, in the order in which they came. */
  formats = []
  #parsers
  #last
  #paths = new Set()
  #looked = 0

  /**
   * @param {{ format?: string, fields?: Record<string, string> }} [options] `format` is one of `formatNames`; default: each line is
   *   tried with the format of the line before, then with the others. `fields` is the field map of JSON lines
   */
  constructor({ format, fields } = {}) {
    const used = formats.filter(({ name }) => format === undefined || name === format)
    this.#parsers = used.map(({ name, detect, parser }) => ({ name, detect, parse: parser(fields) }))
    this.#last = this.#parsers[0]
  }

  /** The fields of the first JSON lines, as `--key` and `--fields` name them. */
  get paths() {
    return [...this.#paths]
  }

  /** The record of a line; undefined if the line has no record. */
  record(line) {
    this.lines++
    if (line.startsWith(byteOrderMark)) line = line.slice(1)
    if (line.trim() === '') return undefined
    if (this.#looked < looked && line.startsWith('{')) this.#look(line)
    let record = this.#last.parse(line)
    if (record === undefined) record = this.#tryOthers(line)
    if (record === undefined) this.#reject(line)
    if (record === undefined || record === null) return undefined
    if (!this.formats.includes(this.#last.name)) this.formats.push(this.#last.name)
    return record
  }

  /** The record by another format, which is the first one to be tried from then on; null for a line that is no request. */
  #tryOthers(line) {
    for (const parser of this.#parsers) {
      if (parser === this.#last || !(this.formats.includes(parser.name) || parser.detect(line))) continue
      const record = parser.parse(line)
      if (record === undefined) continue
      this.#last = parser
      return record
    }
    return undefined
  }

  #look(line) {
    this.#looked++
    for (const path of pathsOf(line)) this.#paths.add(path)
  }

  #reject(line) {
    this.bad++
    if (this.badLines.length < shown) this.badLines.push({ line: this.lines, text: line.slice(0, 160) })
  }
}

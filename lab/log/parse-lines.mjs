import { commonLog } from './common-log.mjs'
import { fieldList } from './field-list.mjs'
import { jsonLines } from './json-lines.mjs'
import { loadBalancer } from './load-balancer.mjs'

const formats = [jsonLines, fieldList, loadBalancer, commonLog]

export const formatNames = formats.map(({ name }) => name)

/** How many bad lines are kept for the report. */
const shown = 3
/** How many lines are tried to find the format. */
const tries = 100

/** Parses the lines of a log. A line that cannot be parsed is counted and never fatal. Runs in a browser too. */
export class LineParser {
  lines = 0
  bad = 0
  /** The first bad lines: their numbers and texts. */
  badLines = []
  format
  #parse
  #map

  /**
   * @param {{ format?: string, fields?: Record<string, string> }} [options] `format` is one of `formatNames`; default: the
   *   format of the first line that has one. `fields` is the field map of JSON lines
   */
  constructor({ format, fields } = {}) {
    this.#map = fields
    if (format !== undefined) this.#use(formats.find(({ name }) => name === format))
  }

  /** The record of a line; undefined if the line has no record. */
  record(line) {
    this.lines++
    if (line.trim() === '') return undefined
    if (this.#parse === undefined) this.#detect(line)
    const record = this.#parse?.(line)
    if (record === undefined) this.#reject(line)
    return record ?? undefined
  }

  #detect(line) {
    const format = formats.find(({ detect }) => detect(line))
    if (format !== undefined) this.#use(format)
    else if (this.lines > tries) this.#use(commonLog)
  }

  #use(format) {
    this.format = format.name
    this.#parse = format.parser(this.#map)
  }

  #reject(line) {
    this.bad++
    if (this.badLines.length < shown) this.badLines.push({ line: this.lines, text: line.slice(0, 160) })
  }
}

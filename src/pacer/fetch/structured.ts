/*
 * What rate limit fields use of Structured Fields (RFC 9651): lists and dictionaries of items with parameters. A field
 * that is not well-formed is no field: the answer is undefined, as the RFC wants it.
 */

type Bare = string | number | boolean

/** An item with its parameters, of a dictionary with its key. */
export interface Item {
  readonly key: string | undefined
  readonly value: Bare
  readonly parameters: ReadonlyMap<string, Bare>
}

const space = /[ \t]*/y
const key = /[a-z*][a-z0-9_.*-]*/y
const string = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y
const number = /-?\d{1,15}(?:\.\d{1,3})?/y
const token = /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y
const bytes = /:([A-Za-z0-9+/=]*):/y
const boolean = /\?([01])/y

class Reader {
  #at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text.trim()
  }

  get done(): boolean {
    return this.#at === this.#text.length
  }

  match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found === null) return undefined
    this.#at = pattern.lastIndex
    return found
  }

  skip(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  bare(): Bare | undefined {
    const text = this.match(string)
    if (text !== undefined) return (text[1] as string).replaceAll(/\\(["\\])/g, '$1')
    const digits = this.match(number)
    if (digits !== undefined) return Number(digits[0])
    const flag = this.match(boolean)
    if (flag !== undefined) return flag[1] === '1'
    return this.match(bytes)?.[1] ?? this.match(token)?.[0]
  }

  /** The parameters that follow; undefined if they are malformed. */
  parameters(): Map<string, Bare> | undefined {
    const parameters = new Map<string, Bare>()
    while (this.skip(';')) {
      this.match(space)
      const name = this.match(key)?.[0]
      const value = this.skip('=') ? this.bare() : true
      if (name === undefined || value === undefined) return undefined
      parameters.set(name, value)
    }
    return parameters
  }

  member(keyed: boolean): Item | undefined {
    const name = keyed ? this.match(key)?.[0] : undefined
    if (keyed && name === undefined) return undefined
    const value = keyed && !this.skip('=') ? true : this.bare()
    const parameters = this.parameters()
    return value === undefined || parameters === undefined ? undefined : { key: name, value, parameters }
  }

  members(keyed: boolean): Item[] | undefined {
    const members: Item[] = []
    for (;;) {
      const member = this.member(keyed)
      if (member === undefined) return undefined
      members.push(member)
      this.match(space)
      if (this.done) return members
      if (!this.skip(',')) return undefined
      this.match(space)
    }
  }
}

/** A List of Items (RFC 9651, 3.1). */
export function parseList(text: string): readonly Item[] | undefined {
  return new Reader(text).members(false)
}

/** A Dictionary of Items (RFC 9651, 3.2). */
export function parseDictionary(text: string): readonly Item[] | undefined {
  return new Reader(text).members(true)
}

import { asError, HeadgateError, shown } from '../common/index.ts'

/** A value of a JSON text, with the line on which it begins. */
export interface JsonNode {
  readonly value: unknown
  readonly line: number
  /** The properties of an object, in the order of the text. */
  readonly members?: ReadonlyMap<string, JsonNode>
  /** The elements of an array. */
  readonly items?: readonly JsonNode[]
}

/** The error in a text that is not valid JSON. */
export class JsonProblem extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids control characters in a text
const quoted = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y
const space = /[ \t\r\n]*/y
/** The deepest nesting that is read. No policy file is deeper, and a very deep text would overflow the stack. */
const deepest = 50

/**
 * Reads JSON with the line of each value, because `JSON.parse` does not return lines. An object with the same name twice is an error:
 * `JSON.parse` would use the second value and ignore the first.
 * @throws JsonProblem if the text is not JSON
 */
export function readJson(text: string): JsonNode {
  const reader = new JsonReader(text.replace(/^\ufeff/, '')) // some editors begin a file with a byte order mark
  const root = reader.value(0)
  reader.end()
  return root
}

/**
 * Writes a value as JSON. `JSON.stringify` would leave out a function or a symbol without notice.
 * @throws HeadgateError `HEADGATE_POLICY_FILE` for a value that JSON cannot have
 */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value, checkWritable) ?? ''
  } catch (error) {
    const [cause] = asError(error).message.split('\n', 1)
    const fix = 'Give numbers, texts, true, false, null, lists, and objects of these.'
    throw new HeadgateError('HEADGATE_POLICY_FILE', `The policies cannot be JSON: ${cause}. ${fix}`)
  }
}

function checkWritable(name: string, value: unknown): unknown {
  if (!['bigint', 'function', 'symbol'].includes(typeof value)) return value
  throw new TypeError(`${shown(name)} is a ${typeof value}`)
}

class JsonReader {
  readonly #text: string
  #at = 0
  #line = 1

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): JsonNode {
    this.#skip()
    if (depth > deepest) throw this.#problem(`Objects and lists stand in each other more than ${deepest} times.`)
    if (this.#takes('{')) return this.#object(depth)
    if (this.#takes('[')) return this.#list(depth)
    const line = this.#line
    const found = this.#match(quoted) ?? this.#match(scalar)
    if (found === undefined) throw this.#problem(`Here a value should stand, not ${this.#here()}.`)
    return { value: JSON.parse(found), line }
  }

  end(): void {
    this.#skip()
    if (this.#at < this.#text.length)
      throw this.#problem(`The document should end here, not go on with ${this.#here()}.`)
  }

  #object(depth: number): JsonNode {
    const line = this.#line
    const members = new Map<string, JsonNode>()
    this.#each('}', () => {
      const name = this.#match(quoted)
      if (name === undefined)
        throw this.#problem(`Here the name of a property should stand, in quotes, not ${this.#here()}.`)
      const key = JSON.parse(name) as string
      if (members.has(key)) throw this.#problem(`The name ${name} stands here a second time.`)
      this.#skip()
      if (!this.#takes(':')) throw this.#problem(`After ${name} a colon should stand, not ${this.#here()}.`)
      members.set(key, this.value(depth + 1))
    })
    return { value: Object.fromEntries([...members].map(([name, node]) => [name, node.value])), line, members }
  }

  #list(depth: number): JsonNode {
    const line = this.#line
    const items: JsonNode[] = []
    this.#each(']', () => void items.push(this.value(depth + 1)))
    return { value: items.map(({ value }) => value), line, items }
  }

  /** Reads elements between commas, up to the character `end`. */
  #each(end: string, read: () => void): void {
    this.#skip()
    if (this.#takes(end)) return
    for (;;) {
      this.#skip()
      read()
      this.#skip()
      if (this.#takes(end)) return
      if (!this.#takes(',')) throw this.#problem(`Here a comma or ${end} should stand, not ${this.#here()}.`)
    }
  }

  #takes(character: string): boolean {
    const found = this.#text[this.#at] === character
    if (found) this.#at++
    return found
  }

  #match(form: RegExp): string | undefined {
    form.lastIndex = this.#at
    const found = form.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #skip(): void {
    const skipped = this.#match(space) ?? ''
    for (const character of skipped) if (character === '\n') this.#line++
  }

  #here(): string {
    const rest = this.#text
      .slice(this.#at, this.#at + 20)
      .split('\n')[0]
      ?.trim()
    return rest === undefined || rest === '' ? 'the end' : JSON.stringify(rest)
  }

  #problem(message: string): JsonProblem {
    return new JsonProblem(message, this.#line)
  }
}

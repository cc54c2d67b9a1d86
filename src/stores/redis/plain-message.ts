import type { Message } from './message.ts'
import type { PlainScript } from './script.ts'
import type { ScriptRequest } from './script-request.ts'

const withdrawn = 0x30 // '0'
const usual = 0x31 // '1'
const withNext = 0x32 // '2'

/** Requests of one plan, cost and time for the script of that plan (see lua/plain.ts). */
export class PlainMessage implements Message {
  readonly script: PlainScript
  readonly keys: string[] = []
  size = 0
  readonly #first: ScriptRequest
  readonly #form: Buffer
  readonly #indexes = new Map<string, number>()
  /** The requests of each key. */
  readonly #byKey: (ScriptRequest | ScriptRequest[])[] = []

  constructor(first: ScriptRequest, script: PlainScript) {
    this.script = script
    this.#first = first
    this.#form = Buffer.of(nextOf(first) ? withNext : usual)
    this.add(first)
  }

  add(request: ScriptRequest): boolean {
    const first = this.#first
    if (request.costs !== first.costs || request.now !== first.now || nextOf(request) !== nextOf(first)) return false
    this.size++
    const key = request.keys[0] as string
    const index = this.#indexes.get(key)
    if (index === undefined) {
      this.#indexes.set(key, this.keys.push(key) - 1)
      this.#byKey.push(request)
      return true
    }
    const others = this.#byKey[index] as ScriptRequest | ScriptRequest[]
    if (Array.isArray(others)) others.push(request)
    else this.#byKey[index] = [others, request]
    return true
  }

  get requests(): readonly ScriptRequest[] {
    return this.size === this.keys.length ? (this.#byKey as ScriptRequest[]) : this.#byKey.flat()
  }

  args(): (string | Buffer)[] {
    const { costs, now } = this.#first
    const args = [this.#form, `${costs}`, now < 0 ? '' : `${now}`]
    if (this.size === this.keys.length) return args
    for (const [index, requests] of this.#byKey.entries()) {
      if (Array.isArray(requests)) args.push(`${index + 1}`, `${requests.length}`)
    }
    return args
  }

  withdraw(): void {
    this.#form[0] = withdrawn
  }
}

function nextOf({ extras }: ScriptRequest): boolean {
  return extras.details?.nextAfter === true
}

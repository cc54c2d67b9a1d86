import type { Message } from './message.ts'
import type { PlainScript } from './script.ts'
import type { ScriptRequest } from './script-request.ts'

const usual = '1'
const withNext = '2'

/** Requests of one plan, cost and time for the script of that plan (see lua/plain/script.ts). */
export class PlainMessage implements Message {
  readonly script: PlainScript
  readonly keys: string[] = []
  size = 0
  readonly #first: ScriptRequest
  /** The place of each key in `keys`. Undefined for a single request. */
  #indexes: Map<string, number> | undefined
  /** The requests of each key. */
  readonly #byKey: (ScriptRequest | ScriptRequest[])[] = []

  constructor(first: ScriptRequest, script: PlainScript) {
    this.script = script
    this.#first = first
    this.add(first)
  }

  add(request: ScriptRequest): boolean {
    const first = this.#first
    if (request.costs !== first.costs || request.now !== first.now || nextOf(request) !== nextOf(first)) return false
    const key = request.keys[0] as string
    if (this.size === 1) this.#indexes = new Map([[this.keys[0] as string, 0]])
    this.size++
    const index = this.#indexes?.get(key)
    if (index === undefined) {
      const added = this.keys.push(key) - 1
      this.#indexes?.set(key, added)
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

  split(): PlainMessage | undefined {
    const half = Math.ceil(this.keys.length / 2)
    const [first, ...others] = this.#byKey.splice(half).flat()
    if (first === undefined) return undefined
    const later = new PlainMessage(first, this.script)
    for (const other of others) later.add(other)
    this.keys.length = half
    this.size -= later.size
    return later
  }

  args(): string[] {
    const { costs, now } = this.#first
    const form = nextOf(this.#first) ? withNext : usual
    const isUsual = costs === 1 && now < 0
    if (this.size === this.keys.length && isUsual) return [form]
    const args = [form, `${costs}`, now < 0 ? '' : `${now}`]
    for (const [index, requests] of this.#byKey.entries()) {
      if (Array.isArray(requests)) args.push(`${index + 1}`, `${requests.length}`)
    }
    return args
  }
}

function nextOf({ extras }: ScriptRequest): boolean {
  return extras.details?.nextAfter === true
}

import type { Message } from './message.ts'
import type { PackedPlan } from './packed-plan.ts'
import {
  isRepeatable,
  largestSizeOf,
  type ScriptRequest,
  verbAndFlags,
  writeExtras,
  writeHead,
} from './script-request.ts'

/** The size of the header: a byte that is `0` if the message was withdrawn, and the TTL margin. */
const headBytes = 9
const wanted = 0x31 // '1'

/** Any requests for the whole script (see lua/main.ts), with each of their keys and plans once. */
export class WholeMessage implements Message {
  readonly script = undefined
  readonly keys: string[] = []
  readonly requests: ScriptRequest[] = []
  readonly #keyIndexes = new Map<string, number>()
  readonly #plans: PackedPlan[] = []
  #bytes = Buffer.allocUnsafe(1024)
  #end = headBytes
  /** The last request that was written, if it can be repeated; its repetitions, and the step between their keys. */
  #last: ScriptRequest | undefined
  #lastVerb = 0
  #lastKey = 0
  #repeats = 0
  #stride = 0

  /** @param ttlMargin in milliseconds */
  constructor(ttlMargin: number) {
    this.#bytes.writeUInt8(wanted, 0)
    this.#bytes.writeDoubleLE(ttlMargin, 1)
  }

  get size(): number {
    return this.requests.length
  }

  /** Its requests refer to its keys and plans, so it stays whole. */
  split(): undefined {
    return undefined
  }

  add(request: ScriptRequest): boolean {
    this.requests.push(request)
    const verb = verbAndFlags(request)
    const key = this.#keyIndex(request.keys[0] as string)
    if (!this.#countAsRepeat(request, verb, key)) this.#write(request, verb, key)
    this.#last = isRepeatable(request, verb) ? request : undefined
    this.#lastVerb = verb
    this.#lastKey = key
    return true
  }

  /** A request that equals the last one, with the same key or the next, is only counted. */
  #countAsRepeat({ plan, now, costs }: ScriptRequest, verb: number, key: number): boolean {
    const last = this.#last
    if (last?.plan !== plan || verb !== this.#lastVerb || now !== last.now || costs !== last.costs) return false
    const stride = key - this.#lastKey
    if (this.#repeats === 0 ? stride !== 0 && stride !== 1 : stride !== this.#stride) return false
    this.#stride = stride
    this.#bytes.writeUInt16LE(++this.#repeats, this.#end - 3)
    this.#bytes.writeUInt8(stride, this.#end - 1)
    return true
  }

  #write(request: ScriptRequest, verb: number, key: number): void {
    const size = largestSizeOf(request)
    if (this.#end + size > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes], 2 * (this.#bytes.length + size))
    }
    const { keys, plan } = request
    const bytes = this.#bytes
    let at = writeHead(bytes, this.#end, request, verb, this.#planIndex(plan))
    at = bytes.writeUInt16LE(key, at)
    at = bytes.writeUInt16LE(0, at)
    at = bytes.writeUInt8(0, at)
    for (let n = 1; n < keys.length; n++) at = bytes.writeUInt16LE(this.#keyIndex(keys[n] as string), at)
    this.#end = writeExtras(bytes, at, request, (key) => this.#keyIndex(key))
    this.#repeats = 0
  }

  #keyIndex(key: string): number {
    let index = this.#keyIndexes.get(key)
    if (index === undefined) {
      index = this.keys.push(key)
      this.#keyIndexes.set(key, index)
    }
    return index
  }

  #planIndex(plan: PackedPlan): number {
    const index = this.#plans.indexOf(plan)
    return index < 0 ? this.#plans.push(plan) : index + 1
  }

  /** The requests and the plans. */
  args(): Buffer[] {
    const only = this.#plans.length === 1 ? (this.#plans[0] as PackedPlan).bytes : undefined
    return [this.#bytes.subarray(0, this.#end), only ?? Buffer.concat(this.#plans.map(({ bytes }) => bytes))]
  }
}

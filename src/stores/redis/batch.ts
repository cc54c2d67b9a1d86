import { HeadgateError } from '../../errors.ts'
import { Due } from '../deadlines.ts'
import { unanswered } from '../unanswered.ts'
import { Reply } from './reply.ts'
import { isBare, type Request, sizeOf, whatOf, writeExtras, writeHead } from './request.ts'
import type { Terms } from './terms.ts'

/** The first bytes of the questions: whether they are still wanted, and the TTL margin. */
const headBytes = 9

const nothing = Buffer.alloc(0)

/** Who sends a call. */
interface Sender {
  /** In milliseconds. */
  readonly terms: { readonly timeout: number; readonly ttlMargin: number }
  /** Told when it is settled. */
  settled(call: Batch): void
}

/** One script call in the making: questions in their order, their keys and their terms each once. */
export class Batch extends Due {
  keys: string[] = []
  #questions: Request[] = []
  #keyIndexes = new Map<string, number>()
  #terms: Terms[] = []
  #packed: Buffer
  #end = headBytes
  /** The question before, if it may be told over again: how often it was, and by how much its key's number grew each time. */
  #last: Request | undefined
  #lastWhat = 0
  #lastKey = 0
  #more = 0
  #stride = 0
  /** Whether everybody who asked has had an answer or an error. */
  settled = false
  readonly #sender: Sender

  constructor(sender: Sender) {
    super()
    this.#sender = sender
    this.#packed = Buffer.allocUnsafe(1024)
    this.#packed.writeUInt8(1, 0)
    this.#packed.writeDoubleLE(sender.terms.ttlMargin, 1)
  }

  get size(): number {
    return this.#questions.length
  }

  add(question: Request): void {
    this.#questions.push(question)
    const what = whatOf(question)
    const key = this.#keyIndex(question.keys[0] as string)
    if (!this.#repeats(question, what, key)) this.#write(question, what, key)
    this.#last = isBare(question, what) ? question : undefined
    this.#lastWhat = what
    this.#lastKey = key
  }

  /** Whether it is the one before over again, with the same key or the next: then it is only counted. */
  #repeats({ terms, now, cost }: Request, what: number, key: number): boolean {
    const last = this.#last
    if (last?.terms !== terms || what !== this.#lastWhat || now !== last.now || cost !== last.cost) return false
    const stride = key - this.#lastKey
    if (this.#more === 0 ? stride !== 0 && stride !== 1 : stride !== this.#stride) return false
    this.#stride = stride
    this.#packed.writeUInt16LE(++this.#more, this.#end - 3)
    this.#packed.writeUInt8(stride, this.#end - 1)
    return true
  }

  #write(question: Request, what: number, key: number): void {
    const size = sizeOf(question)
    if (this.#end + size > this.#packed.length) {
      this.#packed = Buffer.concat([this.#packed], 2 * (this.#packed.length + size))
    }
    const { keys, terms } = question
    const packed = this.#packed
    let at = writeHead(packed, this.#end, question, what, this.#termsIndex(terms))
    at = packed.writeUInt16LE(key, at)
    at = packed.writeUInt16LE(0, at)
    at = packed.writeUInt8(0, at)
    for (let n = 1; n < keys.length; n++) at = packed.writeUInt16LE(this.#keyIndex(keys[n] as string), at)
    this.#end = writeExtras(packed, at, question)
    this.#more = 0
  }

  #keyIndex(key: string): number {
    let index = this.#keyIndexes.get(key)
    if (index === undefined) {
      index = this.keys.push(key)
      this.#keyIndexes.set(key, index)
    }
    return index
  }

  #termsIndex(terms: Terms): number {
    const index = this.#terms.indexOf(terms)
    return index < 0 ? this.#terms.push(terms) : index + 1
  }

  /** The script's two arguments. */
  packed(): Buffer[] {
    const terms = this.#terms.length === 1 ? (this.#terms[0] as Terms).packed : undefined
    return [terms ?? Buffer.concat(this.#terms.map(({ packed }) => packed)), this.#packed.subarray(0, this.#end)]
  }

  /**
   * Takes the questions back from a client that has not sent them, or that sends them again: clients hold on to the
   * very bytes that they were given, and the script does nothing when the first says so. (ioredis sends calls again
   * whose connection broke before the answer came, although they may have counted.)
   */
  withdraw(): void {
    if (!this.settled) this.#packed.writeUInt8(0, 0)
  }

  answer(reply: unknown): void {
    if (this.settled) return
    if (!Array.isArray(reply)) {
      this.fail(new TypeError('the reply is no list'))
      return
    }
    const answers = new Reply(reply)
    for (const question of this.#settle()) {
      const answer = answers.read(question)
      try {
        question.answered(answer)
      } catch (error) {
        question.failed(error) // a clock of the user's that throws
      }
    }
  }

  /** Lets go of everything: whatever still knows of this call, it must not keep what is over from being collected. */
  #settle(): readonly Request[] {
    const questions = this.#questions
    this.settled = true
    this.#questions = []
    this.#last = undefined
    this.#keyIndexes = new Map()
    this.keys = []
    this.#packed = nothing
    this.#sender.settled(this)
    return questions
  }

  /** The deadline, whatever the client does. */
  expire(): void {
    this.withdraw()
    this.fail(unanswered('Redis', this.#sender.terms.timeout))
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error =
      cause instanceof HeadgateError ? cause : new HeadgateError('HEADGATE_STORE', `Redis failed: ${reason}`, { cause })
    for (const question of this.#settle()) question.failed(error)
  }
}

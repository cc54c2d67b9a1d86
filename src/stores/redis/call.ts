import { HeadgateError } from '../../errors.ts'
import { type Question, sizeOf, writeExtras, writeHead } from './question.ts'
import { Reply } from './reply.ts'
import type { Terms } from './terms.ts'

/** The first bytes of the questions: whether they are still wanted, and the TTL margin. */
const headBytes = 9

const nothing = Buffer.alloc(0)

/** One script call in the making: questions in their order, their keys and their terms each once. */
export class Call {
  keys: string[] = []
  #questions: Question[] = []
  #keyIndexes = new Map<string, number>()
  #terms: Terms[] = []
  #packed: Buffer
  #end = headBytes
  /** Whether everybody who asked has had an answer or an error. */
  settled = false
  onSettled: () => void = () => {}

  /** @param ttlMargin in milliseconds */
  constructor(ttlMargin: number) {
    this.#packed = Buffer.allocUnsafe(1024)
    this.#packed.writeUInt8(1, 0)
    this.#packed.writeDoubleLE(ttlMargin, 1)
  }

  get size(): number {
    return this.#questions.length
  }

  add(question: Question): void {
    this.#questions.push(question)
    const size = sizeOf(question)
    if (this.#end + size > this.#packed.length) {
      this.#packed = Buffer.concat([this.#packed], 2 * (this.#packed.length + size))
    }
    const { keys, terms } = question
    this.#end = writeHead(this.#packed, this.#end, question, this.#termsIndex(terms))
    for (const key of keys) this.#end = this.#packed.writeUInt16LE(this.#keyIndex(key), this.#end)
    this.#end = writeExtras(this.#packed, this.#end, question)
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
  #settle(): readonly Question[] {
    const questions = this.#questions
    this.settled = true
    this.#questions = []
    this.#keyIndexes = new Map()
    this.keys = []
    this.#packed = nothing
    this.onSettled()
    return questions
  }

  fail(cause: unknown): void {
    if (this.settled) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error =
      cause instanceof HeadgateError ? cause : new HeadgateError('HEADGATE_STORE', `Redis failed: ${reason}`, { cause })
    for (const question of this.#settle()) question.failed(error)
  }
}

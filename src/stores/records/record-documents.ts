import { type Documents, encodeName, ScopedEvaluation, versionOf } from '../contract/index.ts'
import { Job, type Write } from './job.ts'
import type { RunJobs } from './key-queue.ts'
import type { RecordContext } from './record-context.ts'

/** For how long a document is kept, in microseconds: 100 years. */
const life = 3_155_760_000_000_000

/** The keys of a document's version and of its text. No key of a limiter begins with the same text, because no prefix contains `~`. */
function keysOf(prefix: string, name: string): readonly [version: string, text: string] {
  const start = `${prefix}~documents:${encodeName(name)}:`
  return [`${start}version`, `${start}text`]
}

const noPolicies = new ScopedEvaluation({ name: '', policies: [], scopes: [] })

/** A job that writes a document (a text that all processes share) in a transaction together with other jobs. */
class DocumentJob extends Job {
  readonly #version: string
  readonly #text: string
  readonly #done: (done: boolean | Error) => void
  #swapped = false

  constructor(keys: readonly string[], version: string, text: string, done: (done: boolean | Error) => void) {
    super(noPolicies, keys)
    this.#version = version
    this.#text = text
    this.#done = done
  }

  override get size(): number {
    return 1
  }

  override get settled(): boolean {
    return false
  }

  override get readOnly(): boolean {
    return false
  }

  override run([version, text]: readonly (string | undefined)[]): Write[] {
    this.#swapped = (version ?? '') === this.#version
    if (!this.#swapped) return []
    return [
      { index: 0, before: version, text: versionOf(this.#text), life },
      { index: 1, before: text, text: this.#text, life },
    ]
  }

  override resolve(): void {
    this.#done(this.#swapped)
  }

  override reject(error: Error): void {
    this.#done(error)
  }
}

/** Makes `Documents` in a store of records, with a row for the version and a row for the text. @param run runs jobs in transactions */
export function recordDocuments(
  { prefix, read, deadlines }: Pick<RecordContext, 'prefix' | 'read' | 'deadlines'>,
  run: RunJobs,
): Documents {
  return {
    async versions(names) {
      const { texts } = await deadlines.reading(read(names.map((name) => keysOf(prefix, name)[0])))
      return texts.map((version = '') => version)
    },
    async read(name) {
      const { texts } = await deadlines.reading(read(keysOf(prefix, name)))
      const [version = '', text = ''] = texts
      return { version, text }
    },
    swap(name, version, text) {
      return deadlines.bound(
        new Promise<boolean>((resolve, reject) => {
          run([
            new DocumentJob(keysOf(prefix, name), version, text, (done) => {
              if (done instanceof Error) reject(done)
              else resolve(done)
            }),
          ])
        }),
      )
    },
  }
}

import { isolatesRequests, waitUntil } from '#platform'
import { getOrInsert, realSleeper, type Sleeper, wallClock } from '../common/index.ts'
import type { Documents, Store } from '../stores/contract/index.ts'

/** The time from one read of the documents' versions to the next, in milliseconds. */
const period = 500

/** The user of a document: the overrides of one limiter. */
interface Watcher {
  readonly version: string | undefined
  /** How many documents were applied. */
  readonly applied: number
  unreadSince: number | undefined
  apply(version: string, text: string): void
  /** Called after each read, also after a read that failed. */
  expire(): void
}

const polls = new WeakMap<Store, DocumentPoll>()

/**
 * Reads the versions of all limiters' documents of a store every 500 ms, in one request. Then reads the documents that have
 * changed. The timer keeps neither the process alive nor the store in memory. In Cloudflare Workers, timers end with their request, so
 * there a call reads if the last read began 500 ms ago or earlier.
 */
export class DocumentPoll {
  readonly #documents: Documents
  readonly #watchers = new Map<string, Watcher>()
  readonly #sleeper: Sleeper
  readonly #self = new WeakRef(this)
  #wake: (() => void) | undefined
  #running = false
  #closed = false
  /** When a call last began a read, in microseconds. Only used in Cloudflare Workers. */
  #readAt = -Infinity

  constructor(documents: Documents, sleeper: Sleeper = realSleeper(true)) {
    this.#documents = documents
    this.#sleeper = sleeper
  }

  /** The poll of a store. */
  static of(store: Store, documents: Documents): DocumentPoll {
    return getOrInsert(polls, store, () => new DocumentPoll(documents))
  }

  /** Reads the document soon, and again when it changes. */
  watch(name: string, watcher: Watcher): void {
    this.#watchers.set(name, watcher)
    this.#readAt = -Infinity
    if (!this.#running) this.#sleep(0)
  }

  /** In Cloudflare Workers, begins a read if one is due. The call is not held up, and the worker lives until the read has ended. */
  readAtCall(): void {
    const now = wallClock()
    if (this.#closed || Math.abs(now - this.#readAt) < period * 1000) return
    this.#readAt = now
    waitUntil(this.read())
  }

  /** Ends the reads. Each limiter keeps the overrides that it has read last. */
  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  #sleep(milliseconds: number): void {
    this.#wake?.()
    if (this.#closed || isolatesRequests) return
    const self = this.#self
    this.#wake = this.#sleeper(milliseconds, () => void self.deref()?.read())
  }

  async read(): Promise<void> {
    if (this.#running || this.#closed) return
    this.#running = !isolatesRequests
    const names = [...this.#watchers.keys()]
    try {
      const versions = await this.#documents.versions(names)
      await Promise.all(names.map((name, n) => this.#update(name, versions[n] as string)))
    } catch {
      for (const name of names) this.#failed(name)
    }
    for (const name of names) this.#watchers.get(name)?.expire()
    this.#running = false
    this.#sleep(this.#watchers.size > names.length ? 0 : period)
  }

  async #update(name: string, newest: string): Promise<void> {
    const watcher = this.#watchers.get(name) as Watcher
    try {
      const { version: known, applied } = watcher
      if (newest !== known) {
        const { version, text } = await this.#documents.read(name)
        if (!this.#closed && watcher.applied === applied) watcher.apply(version, text) // else the limiter has meanwhile written its document
      }
      watcher.unreadSince = undefined
    } catch {
      this.#failed(name)
    }
  }

  #failed(name: string): void {
    const watcher = this.#watchers.get(name) as Watcher
    watcher.unreadSince ??= Math.floor(wallClock() / 1000)
  }
}

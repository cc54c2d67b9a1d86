/*
 * Who may touch which keys when: calls of one process never race each other.
 *
 * Calls on the same keys that come before their turn are one job. A job waits for those before it on any of its keys
 * (it enters all lines at once, so no two wait for each other), and calls are answered in the order in which they came.
 */
import { afterPendingEvents } from '#platform'
import { type Call, Job, type Terms } from './job.ts'

/** Carries out jobs that have no key in common; fulfilled for each when it is over, however it went. */
export type Execute = (jobs: readonly Job[]) => readonly Promise<void>[]

/** A job in line. */
interface Place {
  readonly job: Job
  /** How many jobs are before it. */
  before: number
  readonly after: Set<Place>
  state: 'waiting' | 'started' | 'left'
}

export class KeyQueue {
  readonly #execute: Execute
  readonly #timeout: number
  /** The last one in line for each key. */
  readonly #last = new Map<string, Place>()
  #ready: Place[] = []

  /** @param timeout in milliseconds: whoever asked for a job that takes longer has given up */
  constructor(execute: Execute, timeout: number) {
    this.#execute = execute
    this.#timeout = timeout
  }

  ask(terms: Terms, keys: readonly string[], call: Call): void {
    const last = this.#last.get(keys[0] as string)
    const place = last !== undefined && this.#joins(last, terms, keys) ? last : this.#enter(new Job(terms, keys))
    place.job.add(call)
  }

  #joins(place: Place, terms: Terms, keys: readonly string[]): boolean {
    const open = place.state === 'waiting' && place.job.terms === terms
    return open && keys.every((key) => this.#last.get(key) === place)
  }

  #enter(job: Job): Place {
    const place: Place = { job, before: 0, after: new Set(), state: 'waiting' }
    const ahead = new Set(job.keys.flatMap((key) => this.#last.get(key) ?? []))
    for (const each of ahead) each.after.add(place)
    for (const key of job.keys) this.#last.set(key, place)
    place.before = ahead.size
    if (ahead.size === 0) this.#getReady(place)
    return place
  }

  /** Jobs start at the end of the turn, so that calls made in one turn travel together. */
  #getReady(place: Place): void {
    if (this.#ready.push(place) === 1) afterPendingEvents(() => this.#start())
  }

  #start(): void {
    const ready = this.#ready
    this.#ready = []
    for (const place of ready) place.state = 'started'
    const places = ready.filter(({ job }) => !job.over)
    for (const place of ready) if (place.job.over) this.#leave(place)
    if (places.length > 0) void this.#run(places)
  }

  /** No job holds up the line for longer than somebody waits for it, whatever became of it. */
  async #run(places: readonly Place[]): Promise<void> {
    const timer = setTimeout(() => {
      for (const place of places) this.#leave(place)
    }, this.#timeout)
    const running = this.#execute(places.map(({ job }) => job))
    await Promise.all(running.map((done, n) => done.then(() => this.#leave(places[n] as Place))))
    clearTimeout(timer)
  }

  #leave(place: Place): void {
    if (place.state === 'left') return
    place.state = 'left'
    for (const key of place.job.keys) if (this.#last.get(key) === place) this.#last.delete(key)
    for (const next of place.after) if (--next.before === 0) this.#getReady(next)
    place.after.clear() // else one that is in the old generation keeps alive all that came after it
  }
}

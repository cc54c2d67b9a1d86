/*
 * Orders the calls of this process for each key, so that these calls never compete with each other.
 *
 * Calls on the same keys that wait at the same time become one job. A job waits for the earlier jobs on any of its
 * keys. A job enters the queues of all its keys in one step, so no two jobs wait for each other. Calls get their
 * results in the order in which they came.
 */

import { afterPendingEvents, isolatesRequests } from '#platform'
import { longestSleep } from '../../common/index.ts'
import type { ScopedEvaluation } from '../contract/index.ts'
import { Job, type RecordCall } from './job.ts'

/**
 * Runs jobs (groups of calls on the same keys) that have no key in common. Returns a promise for each job, which resolves when this
 * job has ended, even if it failed.
 */
export type RunJobs = (jobs: readonly Job[]) => readonly Promise<void>[]

interface QueuedJob {
  readonly job: Job
  /** How many earlier jobs (groups of calls on the same keys) this job waits for. */
  ahead: number
  /** The later jobs that wait for this job, because they have a key in common. */
  readonly behind: Set<QueuedJob>
  state: 'waiting' | 'started' | 'left'
}

export class KeyQueue {
  readonly #run: RunJobs
  readonly #timeout: number
  /** The last job (group of calls) in the queue of each key. */
  readonly #last = new Map<string, QueuedJob>()
  #ready: QueuedJob[] = []

  /**
   * @param timeout the timeout of a call, in milliseconds. After this time, the next job (group of calls) may start before the earlier job
   *   has ended
   */
  constructor(run: RunJobs, timeout: number) {
    this.#run = run
    this.#timeout = timeout
  }

  add(scoped: ScopedEvaluation, keys: readonly string[], call: RecordCall): void {
    if (isolatesRequests) {
      this.#runAlone(new Job(scoped, keys), call)
      return
    }
    const last = this.#last.get(keys[0] as string)
    const queued = last !== undefined && this.#canJoin(last, scoped, keys) ? last : this.#enter(new Job(scoped, keys))
    queued.job.add(call)
  }

  /** Runs a call without a queue. Cloudflare Workers need this, because there a call cannot wait for a call of another HTTP request. */
  #runAlone(job: Job, call: RecordCall): void {
    job.add(call)
    this.#run([job])
  }

  #canJoin(queued: QueuedJob, scoped: ScopedEvaluation, keys: readonly string[]): boolean {
    const open = queued.state === 'waiting' && queued.job.scoped === scoped
    return open && keys.every((key) => this.#last.get(key) === queued)
  }

  #enter(job: Job): QueuedJob {
    const queued: QueuedJob = { job, ahead: 0, behind: new Set(), state: 'waiting' }
    const ahead = new Set(job.keys.flatMap((key) => this.#last.get(key) ?? []))
    for (const each of ahead) each.behind.add(queued)
    for (const key of job.keys) this.#last.set(key, queued)
    queued.ahead = ahead.size
    if (ahead.size === 0) this.#makeReady(queued)
    return queued
  }

  /** Starts the job (calls on the same keys) at the end of the turn of the event loop, so that all jobs of one turn are sent together. */
  #makeReady(queued: QueuedJob): void {
    if (this.#ready.push(queued) === 1) afterPendingEvents(() => this.#startReady())
  }

  #startReady(): void {
    const ready = this.#ready
    this.#ready = []
    for (const queued of ready) queued.state = 'started'
    const wanted = ready.filter(({ job }) => !job.settled)
    for (const queued of ready) if (queued.job.settled) this.#leave(queued)
    if (wanted.length > 0) void this.#start(wanted)
  }

  /**
   * Runs jobs (groups of calls on the same keys). A job leaves the queues of its keys when the job has ended, or after the timeout
   * if the job still runs then.
   */
  async #start(started: readonly QueuedJob[]): Promise<void> {
    const timer = setTimeout(
      () => {
        for (const queued of started) this.#leave(queued)
      },
      Math.min(this.#timeout, longestSleep),
    )
    const running = this.#run(started.map(({ job }) => job))
    await Promise.all(running.map((done, n) => done.then(() => this.#leave(started[n] as QueuedJob))))
    clearTimeout(timer)
  }

  #leave(queued: QueuedJob): void {
    if (queued.state === 'left') return
    queued.state = 'left'
    for (const key of queued.job.keys) if (this.#last.get(key) === queued) this.#last.delete(key)
    for (const next of queued.behind) if (--next.ahead === 0) this.#makeReady(next)
    queued.behind.clear() // so that a finished job has no reference to later jobs
  }
}

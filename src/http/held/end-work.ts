import { isolatesRequests, realTimers, waitUntil } from '#platform'

/** The longest wait for the stores, in milliseconds. An application may pass a `count` that never answers. */
const longestWait = 2000

/** Work that the stores have not finished, for requests that have ended: to free units in flight, and to give units back. */
const unfinished = new Set<Promise<unknown>>()
/** The work that begins while `workOf` runs. */
let begun: Promise<unknown>[] | undefined

/**
 * Lets this work end, although the response of its request has ended. A platform may otherwise stop the work: Cloudflare Workers cancel it,
 * and Vercel and AWS Lambda freeze the process.
 */
export function keepWorking(work: Promise<unknown>): void {
  const done = () => void unfinished.delete(work)
  waitUntil(work.then(done, done))
  if (isolatesRequests) return
  unfinished.add(work)
  begun?.push(work)
}

/** Resolves after the stores have finished the work that the function begins. In Cloudflare Workers, resolves immediately. */
export function workOf(end: () => void): Promise<void> {
  const work: Promise<unknown>[] = []
  begun = work
  try {
    end()
  } finally {
    begun = undefined
  }
  return atMost(work)
}

/** Resolves after the stores have finished all work for requests that have ended. */
export function endWorkDone(): Promise<void> {
  return atMost([...unfinished])
}

async function atMost(work: readonly Promise<unknown>[]): Promise<void> {
  if (work.length === 0) return
  let timer: unknown
  const late = new Promise<void>((resolve) => {
    timer = realTimers.setTimeout(resolve, longestWait)
  }).then(() => {
    for (const each of work) unfinished.delete(each) // nobody waits for them again
  })
  await Promise.race([Promise.allSettled(work), late])
  realTimers.clearTimeout(timer)
}

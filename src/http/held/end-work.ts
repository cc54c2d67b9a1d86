import { isolatesRequests, waitUntil } from '#platform'

/** What stores still have to do for requests that have ended: to free units in flight, and to give units back. */
const unfinished = new Set<Promise<unknown>>()

/**
 * Lets this work end, although the response of its request has ended. A platform may otherwise stop the work: Cloudflare Workers cancel it,
 * and AWS Lambda freezes the process.
 * @param work never rejects
 */
export function keepWorking(work: Promise<unknown>): void {
  if (isolatesRequests) {
    waitUntil(work)
    return
  }
  unfinished.add(work)
  void work.then(() => unfinished.delete(work))
}

/** Resolves after the stores have done all work for requests that have ended. In Cloudflare Workers, resolves immediately. */
export async function endWorkDone(): Promise<void> {
  await Promise.all(unfinished)
}

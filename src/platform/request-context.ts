import type { Platform } from './platform.ts'

interface RequestContext {
  readonly waitUntil?: Platform['waitUntil']
}

interface Hosts {
  readonly [name: symbol]: { get?(): RequestContext | undefined } | undefined
  readonly Netlify?: { readonly context?: RequestContext | null }
}

const hosts = globalThis as unknown as Hosts

/** Where hosts of Next.js (see its page on `after`) and Vercel Functions show the request that runs now. */
const names = [Symbol.for('@next/request-context'), Symbol.for('@vercel/request-context')]

/** Keeps a function alive on a platform that freezes the process after a response. Elsewhere, the process goes on, and this does nothing. */
export const waitUntil: Platform['waitUntil'] = (work) => {
  try {
    const context = names.map((name) => hosts[name]?.get?.()).find((each) => each?.waitUntil !== undefined)
    const keeper = context ?? hosts.Netlify?.context
    keeper?.waitUntil?.(work)
  } catch {
    // The host does not take work for a request that has ended.
  }
}

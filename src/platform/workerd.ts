/* The platform functions for workerd, the runtime of Cloudflare Workers, if the bundler sets the condition `workerd`, as wrangler does. */
import type { Platform } from './platform.ts'

export * from './web.ts'

/** Not a text in the import, because bundlers other than wrangler would look for the module. */
const { href } = new URL('cloudflare:workers')

let workers: { readonly waitUntil?: Platform['waitUntil'] } | undefined
// A bundle for workerd may also run in Node, such as to make static pages. There, the module does not exist, and is not needed.
import(/* webpackIgnore: true */ /* @vite-ignore */ href).then(
  (loaded) => {
    workers = loaded
  },
  () => undefined,
)

/** Replaces the function of `web.ts`. */
export const waitUntil: Platform['waitUntil'] = (work) => workers?.waitUntil?.(work)

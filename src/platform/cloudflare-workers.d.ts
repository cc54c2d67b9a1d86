/** A module of workerd. Older versions have no `waitUntil`. */
declare module 'cloudflare:workers' {
  export const waitUntil: ((work: Promise<unknown>) => void) | undefined
}

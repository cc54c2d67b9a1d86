export const inDepth: boolean = process.env.HEADGATE_IN_DEPTH === 'true'

const today = new Date().toISOString().slice(0, 10).replaceAll('-', '')

/** `HEADGATE_SEED=20261123` plays what that day played. */
const seed = Number(process.env.HEADGATE_SEED ?? today)

/** So many of the kinds, others each day; in depth all of them. */
export function sample<T>(kinds: readonly T[], size: number): readonly T[] {
  if (inDepth) return kinds
  return Array.from({ length: size }, (_, n) => kinds[(seed * size + n) % kinds.length] as T)
}

import { readFileSync } from 'node:fs'

/** What the time zone database says of a zone from one version on, until the version of the next entry. */
interface Entry {
  readonly since: string
  readonly lines: readonly string[]
}

type Zones = ReadonlyMap<string, readonly Entry[]>

const [table, ...lists] = readFileSync(new URL('golden.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n\n')
  .map((part) => part.split('\n'))
const [versionLine, , ...rows] = table!

/** The versions of the time zone database that golden.py has read, the oldest one first. */
const versions: readonly string[] = versionLine!.split(' ').slice(1)

/** The digests of the boundaries of every zone. */
export const zones: Zones = byZone(rows.map((row) => row.split(' ')))

/** All dates of some zones that do not have 24 hours. */
export const named: Zones = byZone(lists.map(([head, ...lines]) => [...head!.split(' '), ...lines]))

/**
 * What is right for a zone at a version of the time zone database: between two versions of golden.txt, what either says. Undefined
 * if anything is right: at a version beyond those of golden.txt, for a zone that has changed from one of them to another.
 */
export function rightAt(version: string, history: readonly Entry[]): (readonly string[])[] | undefined {
  const before = versions.findLast((each) => each <= version)
  const after = versions.find((each) => each >= version)
  if ((before === undefined || after === undefined) && history.length > 1) return undefined
  return [before ?? after!, after ?? before!].flatMap((each) => {
    const entry = history.findLast(({ since }) => since <= each)
    return entry === undefined ? [] : [entry.lines]
  })
}

/** True if golden.txt should have every zone of this version of the time zone database. */
export function isCovered(version: string): boolean {
  return version <= versions.at(-1)!
}

function byZone(parts: readonly string[][]): Zones {
  const found = new Map<string, Entry[]>()
  for (const [id, since, ...lines] of parts) found.set(id!, [...(found.get(id!) ?? []), { since: since!, lines }])
  return found
}

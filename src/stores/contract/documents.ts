import type { MaybePromise } from '../../common/index.ts'
import { digest } from './encode.ts'

/** A document and its version. Both are `''` if nobody has written the document. */
export interface VersionedDocument {
  readonly version: string
  readonly text: string
}

/**
 * Small texts that all processes of a store share: one for each limiter, of at most 256 kB, which has the limiter's overrides. A
 * document must not be evicted. A method that takes too long has to reject.
 */
export interface Documents {
  /** The version of each document, read in one request. `''` for a document that nobody has written. */
  versions(names: readonly string[]): MaybePromise<readonly string[]>
  /** A document and its version, read together. */
  read(name: string): MaybePromise<VersionedDocument>
  /**
   * Writes the document in one step if it still has this version, and gives it another version. Returns false if it has another
   * version, and then changes nothing. Different texts never have the same version.
   */
  swap(name: string, version: string, text: string): MaybePromise<boolean>
}

/** The version of a document with this text. So no two texts have one version, even after a server has lost the last write. */
export function versionOf(text: string): string {
  return text === '' ? '' : digest(new TextEncoder().encode(text))
}

/** Documents in the memory of this process. */
export function memoryDocuments(): Documents {
  const texts = new Map<string, string>()
  const read = (name: string): VersionedDocument => {
    const text = texts.get(name) ?? ''
    return { version: versionOf(text), text }
  }
  return {
    versions: (names) => names.map((name) => read(name).version),
    read,
    swap(name, version, text) {
      if (read(name).version !== version) return false
      texts.set(name, text)
      return true
    },
  }
}

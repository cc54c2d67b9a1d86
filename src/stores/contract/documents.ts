import type { MaybePromise } from '../../common/index.ts'
import { digest } from './encode.ts'

/** A document and its version. Both are `''` if nobody has written the document. */
export interface VersionedDocument {
  readonly version: string
  readonly text: string
}

/**
 * Small texts that all processes of a store share. Each limiter has one document of at most 256 kB, which contains the limiter's overrides.
 * The store must not evict a document. A method that takes too long has to reject.
 */
export interface Documents {
  /** The version of each document, in the order of `names`, read in one request. `''` for a document that nobody has written. */
  versions(names: readonly string[]): MaybePromise<readonly string[]>
  /** The document and its version, read in one step, so that the two belong together. */
  read(name: string): MaybePromise<VersionedDocument>
  /**
   * Replaces the document in one step, if the stored document still has this version. The new text gets a new version. Returns false and
   * changes nothing if the stored document has another version. Different texts never have the same version.
   */
  swap(name: string, version: string, text: string): MaybePromise<boolean>
}

/** The version of a document: a digest of its text. So different texts never have one version, even if a server loses the last write. */
export function versionOf(text: string): string {
  return text === '' ? '' : digest(new TextEncoder().encode(text))
}

/** Makes `Documents` in the memory of this process, for overrides that no server stores. */
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

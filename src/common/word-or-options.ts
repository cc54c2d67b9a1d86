import { shown } from './errors.ts'
import { check } from './option-readers.ts'
import { type Reader, type Readers, readOptions } from './options.ts'

/**
 * A reader of an option that is one of these words, or an object of options. The default is the first word.
 * @param example a valid object, for the error message
 */
export function wordOrOptions<const Word, Values extends object>(
  words: readonly Word[],
  readers: Readers<Values>,
  example: string,
): Reader<Word | Values> {
  const isObject = (given: unknown) => typeof given === 'object' && given !== null
  const known = check<Word | Values>(
    (given) => words.includes(given as Word) || isObject(given),
    `${words.map(shown).join(', ')} or ${example}`,
    example,
    words[0],
  )
  return (given, name) => {
    const read = known(given, name)
    return isObject(read) ? (readOptions(name, read as Values, readers) as Values) : read
  }
}

import { codes } from './codes.mjs'
import { meanings } from './meanings.mjs'

export default {
  load: () => Object.keys(codes).map((code) => ({ code, meaning: meanings[code].replaceAll('`', '') })),
}

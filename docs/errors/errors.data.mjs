import { codes } from './codes.mjs'
import { meanings } from './meanings.mjs'
import { warnings } from './warnings.mjs'

const row = (code, meaning) => ({ code, meaning: meaning.replaceAll('`', '') })

export default {
  load: () => ({
    errors: Object.keys(codes).map((code) => row(code, meanings[code])),
    warnings: Object.entries(warnings).map(([code, { meaning }]) => row(code, meaning)),
  }),
}

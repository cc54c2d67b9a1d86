/*
 * fast-check with one seed for all tests, so that every run plays the same cases. `HEADGATE_SEED=7 npm test` plays others,
 * and `npm run fuzz` looks for new ones.
 */
import fc from 'fast-check'

const { HEADGATE_SEED = '1' } = process.env

fc.configureGlobal({ seed: Number(HEADGATE_SEED) })

export default fc

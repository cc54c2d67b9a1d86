/** The options of a month that begins about two weeks from now, so that none ends while a test runs. */
export const midMonth = {
  limit: 1_000_000,
  every: /** @type {const} */ ('month'),
  anchor: ((new Date().getUTCDate() + 13) % 28) + 1,
}

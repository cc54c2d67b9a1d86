/** In the order of docs/performance.md. */
export const names = [
  'core',
  'observed',
  'http',
  'sockets',
  'memory',
  'full',
  'redis',
  'databases',
  'sqlite',
  'compat',
  'pacer',
  'growth',
  'garbage',
  'profile',
  'import',
]

export async function loadSuite(name) {
  if (!names.includes(name)) throw new Error(`There is no suite ${name}. There are ${names.join(', ')}.`)
  const { default: suite } = await import(`./${name}.mjs`)
  return suite
}

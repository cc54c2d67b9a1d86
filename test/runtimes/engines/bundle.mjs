import { join } from 'node:path'
import { rolldown } from 'rolldown'

/**
 * One file of text with the program, the package and its dependencies, for runtimes that resolve no packages: a module for workerd, and a
 * script for a browser.
 */
export async function bundle(consumer, input, format) {
  const conditions = format === 'es' ? ['workerd', 'worker', 'browser'] : ['browser']
  const build = await rolldown({
    input: join(consumer, input),
    cwd: consumer,
    platform: 'neutral',
    external: /^cloudflare:/,
    resolve: { conditionNames: [...conditions, 'import', 'default'], mainFields: ['browser', 'module', 'main'] },
    onLog: (level, log) => {
      if (level === 'warn' && log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
    },
  })
  const { output } = await build.generate({ format, name: 'program', codeSplitting: false })
  await build.close()
  return output[0].code
}

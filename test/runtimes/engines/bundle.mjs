import { join } from 'node:path'
import { rolldown } from 'rolldown'

/**
 * One file of text with the program, the package and its dependencies, for runtimes that resolve no packages.
 * @param conditions for workerd: `['workerd', 'worker', 'browser']`, as of wrangler, or `['workerd', 'node']`, as of Nitro
 */
export async function bundle(consumer, input, format, conditions) {
  const build = await rolldown({
    input: join(consumer, input),
    cwd: consumer,
    platform: 'neutral',
    external: /^(cloudflare|node):/,
    resolve: { conditionNames: [...conditions, 'import', 'default'], mainFields: ['browser', 'module', 'main'] },
    onLog: (level, log) => {
      if (level === 'warn' && log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
    },
  })
  const { output } = await build.generate({ format, name: 'program', codeSplitting: false })
  await build.close()
  return output[0].code
}

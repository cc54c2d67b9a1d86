import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'

/* `headgate/nest` of the packed package, beside the packages of Nest, as an application loads and compiles it. */

const here = join(import.meta.dirname, '..')
const compiler = join(here, '../../node_modules/typescript/bin/tsc')

test.each([
  ['import', `import * as nest from 'headgate/nest'; console.log(Object.keys(nest).join())`, 'module'],
  ['require()', `console.log(Object.keys(require('headgate/nest')).join())`, 'commonjs'],
])('loads by %s', (_how, program, type) => {
  const printed = execFileSync(process.execPath, [`--input-type=${type}`, '-e', program], {
    cwd: here,
    encoding: 'utf8',
  })
  const names = ['RateLimit', 'RateLimitDecision', 'RateLimitGuard', 'RateLimitModule', 'SkipRateLimit']
  expect(printed.trim().split(',')).toEqual(expect.arrayContaining(names))
})

/** The compiler's errors in the file or in this package. Errors in the declarations of other packages do not count. */
function complaints(lines: readonly string[], module: string): string[] {
  const file = `declarations-${module}.mts`
  writeFileSync(join(here, file), `${lines.join('\n')}\n`)
  onTestFinished(() => rmSync(join(here, file)))
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false']
  const args = [compiler, ...options, '--target', 'es2023', '--types', 'node', '--module', module, file]
  const { stdout } = spawnSync(process.execPath, args, { cwd: here, encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line.startsWith(file) || /^(\.\.\/)?node_modules\/headgate\//.test(line))
}

describe.each(['nodenext', 'node20'])('its declarations, module %s', (module) => {
  test('name the types of Nest', () => {
    const lines = [
      `import type { CanActivate, DynamicModule, ExecutionContext, HttpException, NestInterceptor } from '@nestjs/common'`,
      `import { nestFramework, RateLimitException, RateLimitGuard, RateLimitInterceptor, RateLimitModule, requestOf } from 'headgate/nest'`,
      `export const module: DynamicModule = RateLimitModule.forRoot('100/15m')`,
      'type Guarded = Parameters<RateLimitGuard["canActivate"]>[0]',
      'type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false',
      'export const same: Same<Guarded, ExecutionContext> = true',
      'export const made: Same<ReturnType<typeof RateLimitModule.forRoot>, DynamicModule> = true',
      'export const guard = (of: RateLimitGuard): CanActivate => of',
      'export const interceptor = (of: RateLimitInterceptor): NestInterceptor => of',
      'export const refusal = (of: RateLimitException): HttpException => of',
      'export const request = (context: ExecutionContext) => requestOf(context)?.url ?? nestFramework.address(context)',
    ]
    expect(complaints(lines, module)).toEqual([])
  })

  test('complain about a wrong policy', () => {
    const lines = [`import { RateLimitModule } from 'headgate/nest'`, `RateLimitModule.forRoot({ window: '1h' })`]
    expect(complaints(lines, module)).not.toEqual([])
  })
})

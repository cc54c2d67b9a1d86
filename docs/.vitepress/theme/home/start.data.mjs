import { createMarkdownRenderer } from 'vitepress'
import { codeOf } from '../playground/code-of.mjs'

const install = {
  npm: 'npm install headgate',
  pnpm: 'pnpm add headgate',
  yarn: 'yarn add headgate',
  bun: 'bun add headgate',
}

const nest = `import { Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { RateLimitGuard, RateLimitModule } from 'headgate/nest'

@Module({
  imports: [RateLimitModule.forRoot('100/15m')],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
export class AppModule {}`

/** The programs are those of the playground, which test/site-programs.test.ts runs. */
const { 'No framework': _none, ...frameworks } = codeOf('100/15m')

/** The first steps as two groups of tabs. */
export default {
  async load() {
    const { site, srcDir, markdown, logger } = globalThis.VITEPRESS_CONFIG
    const renderer = await createMarkdownRenderer(srcDir, markdown, site.base, logger)
    return {
      install: renderer.render(tabs(install, 'sh')),
      code: renderer.render(tabs({ ...frameworks, NestJS: nest }, 'ts')),
    }
  },
}

function tabs(texts, language) {
  const blocks = Object.entries(texts).map(([name, text]) => `\`\`\`${language} [${name}]\n${text}\n\`\`\`\n`)
  return `::: code-group\n\n${blocks.join('\n')}\n:::\n`
}

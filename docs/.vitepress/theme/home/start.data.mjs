import { readFileSync } from 'node:fs'
import { createMarkdownRenderer } from 'vitepress'

const page = new URL('../../../start.md', import.meta.url)

const install = {
  npm: 'npm install headgate',
  pnpm: 'pnpm add headgate',
  yarn: 'yarn add headgate',
  bun: 'bun add headgate',
}

/** The first steps as two groups of tabs. The programs are those of start.md. */
export default {
  watch: ['../../../start.md'],
  async load() {
    const { site, srcDir, markdown, logger } = globalThis.VITEPRESS_CONFIG
    const renderer = await createMarkdownRenderer(srcDir, markdown, site.base, logger)
    const [programs] = /^::: code-group$.*?^:::$/ms.exec(readFileSync(page, 'utf8'))
    return {
      install: renderer.render(installTabs()),
      code: renderer.render(programs.replace('// nest-start.ts\n', '')),
    }
  },
}

function installTabs() {
  const blocks = Object.entries(install).map(([name, text]) => `\`\`\`sh [${name}]\n${text}\n\`\`\`\n`)
  return `::: code-group\n\n${blocks.join('\n')}\n:::\n`
}

/*
 * Writes a page for each code. The pages are files, because the search of VitePress leaves out pages of dynamic routes
 * (vuejs/vitepress#2939).
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { codes } from './codes.mjs'
import { meanings } from './meanings.mjs'
import { warnings } from './warnings.mjs'

const folder = new URL('./', import.meta.url)
const errors = Object.entries(codes).map(([code, page]) => [code, { meaning: meanings[code], ...page }])

for (const name of readdirSync(folder)) if (/^HEADGATE_\w+\.md$/.test(name)) rmSync(new URL(name, folder))
for (const [code, page] of [...errors, ...Object.entries(warnings)]) {
  writeFileSync(new URL(`${code}.md`, folder), contentOf(code, page))
}

function contentOf(code, { meaning, cause, fix, wrong, right }) {
  return `---
outline: [2, 2]
---

# ${code}

${meaning}

## Cause

${cause}

\`\`\`js
${wrong}
\`\`\`

## Fix

${fix}

\`\`\`js
${right}
\`\`\`
`
}

import { codes } from './codes.mjs'
import { meanings } from './meanings.mjs'
import { warnings } from './warnings.mjs'

export default {
  paths() {
    const errors = Object.entries(codes).map(([code, page]) => [code, { meaning: meanings[code], ...page }])
    const pages = [...errors, ...Object.entries(warnings)]
    return pages.map(([code, page]) => ({ params: { code }, content: contentOf(code, page) }))
  },
}

function contentOf(code, { meaning, cause, fix, wrong, right }) {
  return `# ${code}

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

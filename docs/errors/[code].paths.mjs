import { codes } from './codes.mjs'
import { meanings } from './meanings.mjs'

export default {
  paths() {
    return Object.entries(codes).map(([code, page]) => ({ params: { code }, content: contentOf(code, page) }))
  },
}

function contentOf(code, { cause, fix, wrong, right }) {
  return `# ${code}

${meanings[code]}

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

import { type Penalty, unlimited } from '../../../../algorithms/penalty.ts'
import type { MakeStep } from './step.ts'

/** Restates algorithms/penalty.ts. */
export const penaltyStep: MakeStep<Penalty> = (n, penalty) => ({
  state: [`last${n}`, `start${n}`, `refusals${n}`, `blocks${n}`],
  lastNumber: `ends${n}`,
  prelude: '',
  reset: '',
  advance: '',
  wait: () => `ends${n} > at${n} and ends${n} - at${n} or 0`,
  take: '',
  ...(penalty.countsAlways ? {} : { counts: `ends${n} <= at${n}` }),
  count: `
${penalty.countsAlways ? `if ends${n} > at${n} then\n${extend(n, penalty)}\nelse\n${countOne(n, penalty)}\nend` : countOne(n, penalty)}
last${n} = at${n}
`,
  report: `
local counted = refusals${n} > 0 and start${n} + ${penalty.within} - at${n} or 0
local forgotten = blocks${n} > 0 and ends${n} + ${penalty.forget} - at${n} or 0
used = counted > 0 and refusals${n} or 0
remaining = ends${n} > at${n} and 0 or ${unlimited} - used
reset = counted > forgotten and counted or forgotten
if reset < 0 then reset = 0 end
`,
})

function countOne(n: number, { after, within, forget, blocks, endsWithWindow }: Penalty): string {
  const most = Math.max(1, blocks.length)
  const duration = endsWithWindow
    ? `delay - (at${n} - now)`
    : `({ ${blocks.join(', ')} })[math.min(blocks${n} + 1, ${most})]`
  return `
if at${n} - ends${n} >= ${forget} then blocks${n} = 0 end
if refusals${n} == 0 or at${n} - start${n} >= ${within} then start${n}, refusals${n} = at${n}, 0 end
refusals${n} = refusals${n} + 1
if refusals${n} >= ${after} then
  local duration = ${duration}
  if duration ~= never then
    ends${n}, blocks${n}, refusals${n} = math.min(at${n} + duration, maxSafe), math.min(blocks${n} + 1, ${most}), 0
  end
end
`
}

function extend(n: number, { blocks }: Penalty): string {
  return `ends${n} = math.max(ends${n}, at${n} + ({ ${blocks.join(', ')} })[blocks${n}])`
}

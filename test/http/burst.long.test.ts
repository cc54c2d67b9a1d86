import { expect, test, vi } from 'vitest'
import { contract } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'

const down = () => {
  throw new Error('the hook is broken')
}

contract((app) => {
  test('a burst of 500 on one key, with every option on, admits the limit and breaks nothing', async () => {
    const onDecision = vi.fn(() => down())
    const { url, handled } = await app({
      policies: '50/1h',
      settle: true,
      count: 'successes',
      onDecision,
      deny: ['::2'],
    })
    const responses = await Promise.all(Array.from({ length: 500 }, () => get(url)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(50)
    expect([handled(), onDecision.mock.calls.length]).toEqual([50, 500])
  })
})

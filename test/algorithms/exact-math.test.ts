import { expect, test } from 'vitest'
import { gcd, maxFactor, mulDiv } from '../../src/algorithms/exact-math.ts'
import { rounds } from '../support/depth.ts'
import fc from '../support/fast-check.ts'

const anything = fc.integer({ min: 0, max: maxFactor })
const factor = fc.oneof(
  anything,
  fc.integer({ min: 0, max: 1000 }),
  fc.integer({ min: 0, max: 1000 }).map((n) => maxFactor - n),
)
const part = fc.tuple(factor, factor).filter(([a, b]) => a + b > 0)

test('mulDiv(a, b, c) is floor(a * b / c), also if a * b passes 2^53', () => {
  fc.assert(
    fc.property(factor, part, (a, [one, other]) => {
      const [b, c] = one < other ? [one, other] : [other, one]
      expect(mulDiv(a, b, c)).toBe(Number((BigInt(a) * BigInt(b)) / BigInt(c)))
    }),
    { numRuns: rounds(5000, 20_000) },
  )
})

test.each([
  { a: 0, b: 0, c: 1, floor: 0 },
  { a: 7, b: 1, c: 2, floor: 3 },
  { a: maxFactor, b: maxFactor, c: maxFactor, floor: maxFactor },
  { a: maxFactor, b: maxFactor - 1, c: maxFactor, floor: maxFactor - 1 },
  { a: maxFactor - 1, b: maxFactor - 1, c: maxFactor, floor: maxFactor - 2 },
  { a: maxFactor, b: 1, c: maxFactor - 1, floor: 1 },
])('mulDiv($a, $b, $c) = $floor', ({ a, b, c, floor }) => expect(mulDiv(a, b, c)).toBe(floor))

test('floor and ceil of a quotient of integers below 2^53 are exact in doubles', () => {
  const safe = fc.oneof(
    fc.maxSafeNat(),
    fc.nat({ max: 1000 }).map((n) => Number.MAX_SAFE_INTEGER - n),
  )
  const divisor = fc.oneof(
    fc.integer({ min: 1, max: 1000 }),
    fc.maxSafeNat().map((n) => Math.max(1, n)),
  )
  fc.assert(
    fc.property(safe, divisor, (n, d) => {
      const floor = BigInt(n) / BigInt(d)
      expect(Math.floor(n / d)).toBe(Number(floor))
      expect(Math.ceil(n / d)).toBe(Number(BigInt(n) % BigInt(d) === 0n ? floor : floor + 1n))
    }),
    { numRuns: rounds(5000, 20_000) },
  )
})

test('gcd divides both numbers, and the quotients share no divisor', () => {
  const positive = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  fc.assert(
    fc.property(positive, positive, (a, b) => {
      const divisor = gcd(a, b)
      expect([a % divisor, b % divisor, gcd(a / divisor, b / divisor)]).toEqual([0, 0, 1])
    }),
  )
})

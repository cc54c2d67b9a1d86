import { randomOf } from '../support/seeded-random.ts'
import { encoding } from './encoding.ts'
import { headers } from './headers.ts'
import { plans } from './plans.ts'
import { policies } from './policies.ts'
import { addresses, cookies } from './requests.ts'
import type { Target } from './target.ts'

export { randomOf }

export const targets: readonly Target[] = [headers, cookies, addresses, encoding, policies, plans]

import { dice } from '../support/dice.ts'
import { encoding } from './encoding.ts'
import { headers } from './headers.ts'
import { policies } from './policies.ts'
import { addresses, cookies } from './requests.ts'
import type { Target } from './target.ts'

export { dice }

export const targets: readonly Target[] = [headers, cookies, addresses, encoding, policies]

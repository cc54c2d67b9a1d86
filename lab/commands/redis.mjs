import { openRedis } from '../store/redis.mjs'
import { storeCommand } from './store.mjs'

const own = {
  name: { type: 'string', multiple: true, help: 'NAME', about: 'a name of a policy, which Redis keeps as a hash' },
}

export const redis = storeCommand('redis', 'redis://localhost', own, (url, { prefix, name = [] }) =>
  openRedis(url, { prefix, names: name }),
)

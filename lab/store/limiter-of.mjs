import { policy, RateLimiter } from 'headgate'

/**
 * A function that makes a limiter of the application again, by its name, to ban a key or to write an override. The store does not have the
 * policies of the application: the limiter here has policies that decide nothing and are never stored.
 * @param {() => import('headgate').Store} makeStore makes a store for each limiter: a store takes one limiter of a name
 */
export function limitersIn(makeStore) {
  return (name, policies) => new RateLimiter({ name, policies, store: makeStore() })
}

/** Policies that only say which scopes a limiter has. */
export function policiesOfScopes(scopes) {
  return scopes.map((scope, n) => policy('1/1s', { name: `lab-${n}`, scope }))
}

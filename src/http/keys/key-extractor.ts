import type { MaybePromise } from '../../common/index.ts'
import type { Key } from '../../limiter/index.ts'
import type { Framework } from '../framework.ts'

/**
 * The result of a key extractor. Undefined, null or an empty text means that the extractor has found no key. False means that no policy
 * limits the request, whatever the scope of the policy.
 */
export type Extracted = string | number | bigint | undefined | null | false

/** Functions that read a request in the same way for every framework. */
export type RequestView<Request> = Pick<
  Framework<Request, never>,
  'address' | 'peer' | 'unaddressed' | 'incomplete' | 'trustsProxy' | 'header' | 'cookie' | 'param' | 'route'
>

/**
 * Finds the key of a request, which says who is limited. An extractor gets the framework's request (with Koa, the context), a view
 * with functions that are the same for every framework, and the response. An extractor may return a promise. If an extractor finds
 * no key, the request is limited by the client's address.
 *
 *     const byTenant: KeyExtractor<express.Request> = (request) => request.get('x-tenant')
 *     const byAgent: KeyExtractor = (request, view) => view.header(request, 'user-agent')
 */
export type KeyExtractor<Request = unknown, Response = unknown> = (
  request: Request,
  view: RequestView<Request>,
  // An extractor whose type has no response can be called without a response.
  ...response: unknown extends Response ? [response?: unknown] : [response: Response]
) => MaybePromise<Extracted>

/** Finds the key of a request, or a record with a key for each scope (a name such as `user`). False if the request is not limited. */
export type FindKey = () => MaybePromise<Key | false>

/** The characters of a token (RFC 9110, 5.6.2), which the names of headers and cookies consist of. */
export const tokenPattern: RegExp = /^[\w!#$%&'*+.^`|~-]+$/

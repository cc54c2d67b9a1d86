import { METHODS } from 'node:http'
import type { Request } from 'express'
import { routeName } from '../src/http/index.ts'

/** A route of Express, or of the package `router`, which it uses. `_all` is set by `.all(...)`. */
export interface DeclaredRoute {
  readonly path?: unknown
  readonly methods?: Readonly<Record<string, boolean | undefined>>
}

/** The method, if the route declares it by itself. Undefined if the route takes it as any other one. */
export function declaredMethod(method: string, { methods = {} }: DeclaredRoute): string | undefined {
  const declared = method === 'HEAD' && !methods.head ? 'GET' : method
  // `app.all` declares every method of Node.
  return methods[declared.toLowerCase()] && Object.keys(methods).length < METHODS.length ? declared : undefined
}

/** A layer of a router: a route, a router that is mounted on a path, or another middleware. */
interface Layer {
  readonly route?: object | undefined
  readonly handle?: { readonly stack?: readonly Layer[] }
  /** The path as the application wrote it. Missing in Express 4, and in Express 5 with `router` below 2.3. */
  readonly rawPath?: unknown
  /** Express 4: made from the path. */
  readonly regexp?: RegExp
}

/** What Express 4 makes of a path without parameters: `/^\/admin\/?(?=\/|$)/i`. */
const staticPattern = /^\^((?:\\[/.]|[\w~@%&=,;'-])*?)(?:\\\/)?\\\/\?\(\?=\\\/\|\$\)$/

/** The text of a mount path in lower case, without a slash at its end. Undefined if the path may match several texts. */
function staticPath({ rawPath, regexp }: Layer): string | undefined {
  const path = rawPath === undefined ? regexp?.source.match(staticPattern)?.[1]?.replaceAll('\\', '') : rawPath
  if (typeof path !== 'string' || !/^[\w/.~@%&=,;'-]*$/.test(path)) return undefined
  return path.toLowerCase().replace(/\/+$/, '')
}

/** The static paths on which a route can be reached through these layers. */
function staticMounts(layers: readonly Layer[], route: object, mount: string, around: readonly object[]): string[] {
  return layers.flatMap((layer) => {
    const inner = layer.handle?.stack
    if (layer.route === route) return mount
    const path = inner === undefined || around.includes(inner) ? undefined : staticPath(layer)
    return path === undefined
      ? []
      : staticMounts(inner as readonly Layer[], route, mount + path, [...around, inner as object])
  })
}

interface Application {
  /** Express 4. There, `router` throws. */
  readonly _router?: Layer['handle']
  readonly router?: Layer['handle']
  readonly mountpath: unknown
  readonly parent?: Application
}

/** The path of an application that is mounted in another one. Undefined if the path may match several texts. */
function mountOf({ parent, mountpath }: Application): string | undefined {
  if (parent === undefined) return ''
  const [outer, own] = [mountOf(parent), staticPath({ rawPath: mountpath })]
  return outer === undefined || own === undefined ? undefined : outer + own
}

const known = new WeakMap<object, readonly string[]>()

/** All static paths on which the route's router is mounted, in lower case. None without an application of Express. */
function mountsOf(app: Application | undefined, route: object): readonly string[] {
  let mounts = known.get(route)
  if (mounts === undefined) {
    const own = app && mountOf(app)
    const { stack = [] } = app?._router ?? app?.router ?? {}
    mounts = own === undefined ? [] : staticMounts(stack, route, own, [])
    known.set(route, mounts)
  }
  return mounts
}

/**
 * The name of the route that matched, with the path that its router is mounted on. `baseUrl` is text of the client, in
 * any letter case and with any parameters. So it only chooses among the static paths that the application has mounted
 * the router on. For any other path, the name has `*`.
 */
export function expressRoute({ app, baseUrl, method, route }: Request): string {
  if (route === undefined) return routeName(undefined, undefined)
  const mount = baseUrl?.toLowerCase()
  const isStatic = !mount || mountsOf(app as unknown as Application | undefined, route).includes(mount)
  const path: string | undefined = route.path?.toString()
  return routeName(declaredMethod(method, route), isStatic ? (mount || '') + (path ?? '') : `*${path}`)
}

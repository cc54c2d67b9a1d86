/*
 * The usual step of a plan as straight Lua: a short script in place of the whole one, for plans that need no more.
 */

export { isPlain, plainScript } from './plain-script.ts'

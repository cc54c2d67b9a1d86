/*
 * Makes a short Lua script for one plan. It decides the most frequent calls faster than the whole script.
 */

export { isPlain, plainScript } from './plain-script.ts'

/*
 * Makes a short Lua script for one plan (set of policies). This script decides the most frequent calls faster than the script for
 * all plans and calls.
 */

export { hasShortScript, shortScript } from './short-script.ts'
